"""Blocks of one task: each a line from one candidate's run to the other's. Pure.

A line is whole if the first candidate's run came first in its block, and dashed if it came second. A failed run is a
hollow marker. Small sheets, one per task, stand side by side as far as the page is wide.
"""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import line, marker, polyline, text
from fairtrial_analysis.html.svg.text import fitted

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 236, 196, 46, 22, 42, 164


@dataclass(frozen=True)
class End:
    """One run of a block; None if nothing was measured in it."""

    value: float | None
    passed: bool


@dataclass(frozen=True)
class Block:
    """One repetition, its runs in the order of the candidates."""

    repetition: int
    ends: tuple[End, ...]
    first: bool | None  # whether the first candidate's run came first; None if nobody knows


@dataclass(frozen=True)
class Slopes:
    """All blocks of one task."""

    task: str
    arms: tuple[Arm, ...]
    blocks: tuple[Block, ...]
    unit: str


def drawing(slopes: Slopes, figure: str) -> Drawing:
    """The sheet of one task."""
    values = [end.value for block in slopes.blocks for end in block.ends if end.value is not None]
    placed = scale.linear(values, _BOTTOM, _TOP, zero=True, pad=0.08)
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(slopes.arms), 1)
    across = [_LEFT + step * (place + 0.5) for place in range(len(slopes.arms))]
    marks: list[Element] = [
        text(0, 13, fitted(slopes.task, _WIDTH, 12), "strong"),
        axis.left(placed, _LEFT, slopes.unit, right=_WIDTH - _RIGHT, about=4),
    ]
    for place, arm in zip(across, slopes.arms, strict=True):
        marks += [
            line(place, _TOP, place, _BOTTOM, "axis"),
            marker(arm.shape, place, _BOTTOM + 12, 3.5, f"mark {arm.colour}"),
            text(place, _BOTTOM + 29, fitted(arm.name, step, 11), "tick", "middle"),
        ]
    if not values:
        marks.append(text((_LEFT + _WIDTH - _RIGHT) / 2, (_TOP + _BOTTOM) / 2, "nothing measured", "tick", "middle"))
    for block in slopes.blocks:
        marks += _block(block, slopes.arms, across, placed)
    return Drawing(figure, f"Blocks of {slopes.task}", _says(slopes), _WIDTH, _HEIGHT, tuple(marks))


def _block(block: Block, arms: tuple[Arm, ...], across: list[float], placed: scale.Linear) -> list[Element]:
    points = [(x, placed(end.value)) for x, end in zip(across, block.ends, strict=True) if end.value is not None]
    order = "order-unknown" if block.first is None else "first" if block.first else "second"
    marks = [polyline(points, f"slope {order}")] if len(points) > 1 else []
    for x, end, arm in zip(across, block.ends, arms, strict=True):
        if end.value is not None:
            class_ = f"mark {arm.colour}" if end.passed else f"hollow {arm.colour}"
            marks.append(marker(arm.shape, x, placed(end.value), 3.6, class_))
    return marks


def _says(slopes: Slopes) -> str:
    complete = sum(all(end.value is not None for end in block.ends) for block in slopes.blocks)
    failed = sum(not end.passed for block in slopes.blocks for end in block.ends)
    return f"{len(slopes.blocks)} blocks, {complete} with a value from every candidate; {failed} runs did not pass."
