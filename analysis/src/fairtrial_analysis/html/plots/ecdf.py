"""Empirical distributions: the share of runs that needed at most so much. Pure.

Up to three hundred runs, every one is a dot; of more the median is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.html.plots.arms import Arm, legend
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import line, markers, polyline, text

_WIDTH, _LEFT, _RIGHT, _PLOT = 760, 64, 20, 230
_LARGE, _SMALL = 30, 300  # up to so many runs every one is a marker, a large or a small one


@dataclass(frozen=True)
class Curve:
    """What one candidate's runs needed, in ascending order."""

    arm: Arm
    values: tuple[float, ...]


def drawing(
    curves: tuple[Curve, ...], figure: str, title: str, unit: str, *, label: Callable[[Fraction], str] = scale.plain
) -> Drawing:
    """Step functions on one scale. Positive values that span more than a factor of twenty get a logarithmic one."""
    values = [value for curve in curves for value in curve.values]
    keys, below = legend(tuple(curve.arm for curve in curves), _LEFT, 16, _WIDTH)
    top, bottom = below + 14, below + 14 + _PLOT
    across = _across(values)
    up = scale.Linear(0, 1, bottom, top)
    marks = [
        *keys,
        axis.left(up, _LEFT, "", right=_WIDTH - _RIGHT, label=lambda share: f"{int(share * 100)} %"),
        axis.below(across, bottom, unit, top=top, label=label),
    ]
    for curve in curves:
        marks += _curve(curve, across, up)
    if not values:
        marks.append(text((_LEFT + _WIDTH) / 2, (top + bottom) / 2, "nothing measured", "tick", "middle"))
    says = " ".join(_says(curve) for curve in curves)
    return Drawing(figure, title, says, _WIDTH, bottom + 42, tuple(marks))


def _across(values: list[float]) -> axis.Scale:
    if values and min(values) > 0 and max(values) / min(values) > 20:  # noqa: PLR2004 - said in the docstring above
        return scale.log(values, _LEFT, _WIDTH - _RIGHT)
    return scale.linear(values, _LEFT, _WIDTH - _RIGHT, zero=True)


def _curve(curve: Curve, across: axis.Scale, up: scale.Linear) -> list:  # type: ignore[type-arg]
    n = len(curve.values)
    if not n:
        return []
    points = [(across(curve.values[0]), up(0))]
    shares = []
    for number, value in enumerate(curve.values, start=1):
        x = across(value)
        shares.append((x, up(number / n)))
        if points[-1][0] != x:
            points.append((x, points[-1][1]))
        points.append((x, up(number / n)))
    points.append((max(across.start, across.end), up(1)))
    marks = [polyline(points, f"curve {curve.arm.colour} dash{curve.arm.index % 3}")]
    if n <= _SMALL:
        marks.append(markers(curve.arm.shape, shares, 3.4 if n <= _LARGE else 2.4, f"mark {curve.arm.colour}"))
    else:
        middle = shares[(n - 1) // 2]
        marks.append(line(middle[0], middle[1] - 5, middle[0], middle[1] + 5, f"curve {curve.arm.colour}"))
        marks.append(markers(curve.arm.shape, [middle], 4, f"mark {curve.arm.colour}"))
    return marks


def _says(curve: Curve) -> str:
    if not curve.values:
        return f"{curve.arm.name}: nothing measured."
    return f"{curve.arm.name}: {len(curve.values)} runs, from {curve.values[0]:g} to {curve.values[-1]:g}."
