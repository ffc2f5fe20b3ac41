"""What became of every scheduled run, one column per candidate: the flow diagram of CONSORT. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import group, line, marker, rect, text
from fairtrial_analysis.html.svg.text import fitted

_WIDTH, _PER_ROW = 760, 3
_LINE, _PAD, _GAP = 17, 9, 26
_MOST_REASONS = 8


@dataclass(frozen=True)
class ArmFlow:
    """Counts of one candidate. They add up: scheduled + replacements = left out + not run + valid."""

    arm: Arm
    scheduled: int
    replacements: int
    invalid: tuple[tuple[str, int], ...]  # by reason
    void: int
    cancelled: int
    not_run: int
    passed: int
    failed: int

    @property
    def lost(self) -> int:
        """Begun, and without a judgement."""
        return sum(count for _, count in self.invalid) + self.void + self.cancelled

    @property
    def valid(self) -> int:
        """What every rate is a share of."""
        return self.passed + self.failed

    @property
    def begun(self) -> int:
        """Whatever was started."""
        return self.valid + self.lost


def drawing(flows: tuple[ArmFlow, ...], figure: str) -> Drawing:
    """Columns side by side, three to a row."""
    marks: list[Element] = []
    top = 8.0
    for first in range(0, len(flows), _PER_ROW):
        row = flows[first : first + _PER_ROW]
        each = _WIDTH / max(len(row), 2)
        columns = [_column(flow, place * each + 8, each - 16, top) for place, flow in enumerate(row)]
        marks += [mark for column, _ in columns for mark in column]
        top = max(bottom for _, bottom in columns) + _GAP
    says = " ".join(
        f"{flow.arm.name}: {flow.scheduled} scheduled, {flow.replacements} replacements, {flow.begun} begun, "
        f"{flow.lost} without a judgement, {flow.not_run} not run, {flow.valid} valid, of which {flow.passed} passed."
        for flow in flows
    )
    return Drawing(figure, "Flow of runs", says, _WIDTH, max(top - _GAP + 8, 40), tuple(marks))


def _column(flow: ArmFlow, x: float, width: float, y: float) -> tuple[list[Element], float]:
    """One candidate from top to bottom; what leaves goes into an indented box at the right."""
    marks = [
        marker(flow.arm.shape, x + 8, y + 8, 5, f"mark {flow.arm.colour}"),
        text(x + 20, y + 13, fitted(flow.arm.name, width - 24, 13), "strong"),
    ]
    y += 24
    spine = x + 14
    scheduled = [f"Scheduled  {flow.scheduled}", f"Replacements  {flow.replacements}"]
    steps = [
        (scheduled, False, "box"),
        ([f"Not run  {flow.not_run}"], True, "box quiet-box"),
        ([f"Begun  {flow.begun}"], False, "box"),
        (_lost(flow), True, "box quiet-box"),
        ([f"Valid  {flow.valid}"], False, "box strong-box"),
        ([f"Passed  {flow.passed}", f"Failed  {flow.failed}"], False, "box"),
    ]
    for number, (lines, aside, class_) in enumerate(steps):
        left = x + 44 if aside else x
        height = len(lines) * _LINE + 2 * _PAD - 4
        if aside:
            marks.append(line(spine, y + height / 2, left, y + height / 2, "flow"))
        marks.append(_box(left, y, x + width - left, height, lines, class_))
        below = y + height + (10 if aside or steps[min(number + 1, len(steps) - 1)][1] else 18)
        if number + 1 < len(steps):
            marks.append(line(spine, y if aside else y + height, spine, below, "flow"))
        y = below if number + 1 < len(steps) else y + height
    return marks, y


def _lost(flow: ArmFlow) -> list[str]:
    shown, rest = flow.invalid[:_MOST_REASONS], flow.invalid[_MOST_REASONS:]
    lines = [
        f"No judgement  {flow.lost}",
        *(f"\N{EN DASH} {reason.replace('_', ' ')}  {count}" for reason, count in shown),
    ]
    if rest:
        lines.append(f"\N{EN DASH} {len(rest)} other reasons  {sum(count for _, count in rest)}")
    lines += [
        f"\N{EN DASH} {name}  {count}" for name, count in (("void", flow.void), ("cancelled", flow.cancelled)) if count
    ]
    return lines


def _box(x: float, y: float, width: float, height: float, lines: list[str], class_: str) -> Element:
    """A box of lines, each a name at the left and its count at the right."""
    marks = [rect(x, y, width, height, class_)]
    for number, words in enumerate(lines):
        name, _, count = words.rpartition("  ")
        baseline = y + _PAD + 10 + number * _LINE
        room = width - 24 - 8 * len(count)
        marks += [
            text(x + 10, baseline, fitted(name, room), "label"),
            text(x + width - 10, baseline, count, "count", "end"),
        ]
    return group("step", *marks)
