"""The frame of a drawing: its size, and what it says to those who can't see it. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.svg.marks import at


@dataclass(frozen=True)
class Drawing:
    """Marks on a sheet. `title` names the figure, `says` tells in words what it shows."""

    id: str
    title: str
    says: str
    width: float
    height: float
    marks: tuple[Element, ...]

    @property
    def svg(self) -> Element:
        """One image to a screen reader: the table that follows it holds the numbers."""
        title, says = f"{self.id}-title", f"{self.id}-says"
        return tag(
            "svg",
            tag("title", self.title, id=title),
            tag("desc", self.says, id=says),
            *self.marks,
            id=self.id,
            viewBox=f"0 0 {at(self.width)} {at(self.height)}",
            width=at(self.width),
            height=at(self.height),
            role="img",
            aria_labelledby=f"{title} {says}",
        )
