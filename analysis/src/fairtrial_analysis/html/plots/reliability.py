"""How likely k runs of one task all succeed, by k: the curve of pass^k, with pass@k beside it. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm, legend
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import group, line, markers, polyline, text

_WIDTH, _LEFT, _RIGHT, _PLOT = 760, 64, 24, 230


@dataclass(frozen=True)
class Curve:
    """One candidate's values for k = 1, 2, …; None where too few runs are valid."""

    arm: Arm
    all_of_k: tuple[float | None, ...]
    any_of_k: tuple[float | None, ...]


def drawing(curves: tuple[Curve, ...], figure: str) -> Drawing:
    """Both families on one scale: whole lines for pass^k, faint dashed ones for pass@k."""
    most = max((len(curve.all_of_k) for curve in curves), default=1)
    keys, below = legend(tuple(curve.arm for curve in curves), _LEFT, 16, _WIDTH)
    top, bottom = below + 26, below + 26 + _PLOT
    up = scale.Linear(0, 1, bottom, top)
    across = scale.Linear(0.7, max(most, 2) + 0.3, _LEFT, _WIDTH - _RIGHT)
    marks = [
        *keys,
        *_kinds(_LEFT, below),
        axis.left(up, _LEFT, "", right=_WIDTH - _RIGHT),
        _whole_numbers(across, most, bottom),
    ]
    for curve in curves:
        marks += _family(curve.any_of_k, across, up, curve.arm, f"curve faint {curve.arm.colour} dash1", dotted=False)
        marks += _family(curve.all_of_k, across, up, curve.arm, f"curve {curve.arm.colour}", dotted=True)
    return Drawing(figure, "Reliability over repeated runs", _says(curves), _WIDTH, bottom + 42, tuple(marks))


def _kinds(x: float, y: float) -> list[Element]:
    return [
        line(x, y - 4, x + 26, y - 4, "curve ink"),
        text(x + 32, y, "pass^k: all k succeed", "label"),
        line(x + 210, y - 4, x + 236, y - 4, "curve faint ink dash1"),
        text(x + 242, y, "pass@k: at least one of k succeeds", "label"),
    ]


def _whole_numbers(across: scale.Linear, most: int, bottom: float) -> Element:
    """An axis of counts: nothing lies between them."""
    step = max(1, -(-most // 15))
    marks = [line(across.start, bottom, across.end, bottom, "axis")]
    for k in range(1, most + 1, step):
        marks += [
            line(across(k), bottom, across(k), bottom + 4, "axis"),
            text(across(k), bottom + 16, str(k), "tick", "middle"),
        ]
    marks.append(
        text((across.start + across.end) / 2, bottom + 33, "k, number of runs of one task", "axis-title", "middle")
    )
    return group("x-axis", *marks)


def _family(
    values: tuple[float | None, ...], across: scale.Linear, up: scale.Linear, arm: Arm, class_: str, *, dotted: bool
) -> list[Element]:
    points = [(across(k), up(value)) for k, value in enumerate(values, start=1) if value is not None]
    if not points:
        return []
    marks = [polyline(points, class_)] if len(points) > 1 else []
    return [*marks, markers(arm.shape, points, 4, f"mark {arm.colour}")] if dotted else marks


def _says(curves: tuple[Curve, ...]) -> str:
    parts = []
    for curve in curves:
        known = [(k, value) for k, value in enumerate(curve.all_of_k, start=1) if value is not None]
        if known:
            ends = (known[0], known[-1]) if len(known) > 1 else (known[0],)
            parts.append(f"{curve.arm.name}: " + ", ".join(f"pass^{k} is {value:.2f}" for k, value in ends) + ".")
        else:
            parts.append(f"{curve.arm.name}: no valid run.")
    return " ".join(parts)
