"""How a candidate looks in every figure: a colour and a shape of its own, so that either is enough. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.svg.marks import SHAPES, Shape, group, marker, text
from fairtrial_analysis.html.svg.text import fitted, width

COLOURS = 7  # in style.css; with eight shapes, 56 candidates differ
_ROOM, _SIZE = 220, 12


@dataclass(frozen=True)
class Arm:
    """A candidate and its place in the order of the design."""

    name: str
    index: int

    @property
    def shape(self) -> Shape:
        """Its marker."""
        return SHAPES[self.index % len(SHAPES)]

    @property
    def colour(self) -> str:
        """Its class."""
        return f"a{self.index % COLOURS}"


def arms_of(names: tuple[str, ...]) -> tuple[Arm, ...]:
    """All candidates, in the order of the design."""
    return tuple(Arm(name, index) for index, name in enumerate(names))


def legend(arms: tuple[Arm, ...], x: float, y: float, right: float) -> tuple[list[Element], float]:
    """Markers and names in as many lines as needed, and the y below them."""
    marks, left = [], x
    for arm in arms:
        name = fitted(arm.name, _ROOM, _SIZE)
        needed = 16 + width(name, _SIZE) + 18
        if left > x and left + needed > right:
            left, y = x, y + 20
        marks.append(
            group(
                "key", marker(arm.shape, left + 6, y - 4, 4.5, f"mark {arm.colour}"), text(left + 16, y, name, "label")
            )
        )
        left += needed
    return marks, y + 20
