"""The verdict under other readings of the same records, each a changed sample or rule. Pure.

Runs without a judgement counted otherwise, missing values imputed, half of the blocks, each task left out. None of them
is the verdict; the report says which would change it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.rule import Facts, lines, verdict
from fairtrial.audit.numbers.sample import RATES, Sample
from fairtrial.audit.numbers.told import Value

JsonObject = dict[str, Any]


def readings(rule: JsonObject, sample: Sample, facts: Facts, base: str) -> list[JsonObject]:
    """What the report must say of each, without its words."""
    made = []
    for name, used, other in _readings(rule, sample):
        found = verdict(used, lines(used, other, facts))
        made.append({"name": name, "verdict": found, "changed": found != base})
    return made


def _readings(rule: JsonObject, sample: Sample) -> Iterator[tuple[str, JsonObject, Sample]]:
    gates = [each for each in rule.get("dataGates", ()) if each["statistic"] != "unjudgedRate"]
    lax = rule | {"minValidPerCell": 1, "dataGates": gates}
    yield "without_replacements", lax, _kept(sample, lambda row: not row.replaces)
    for name, ours, theirs in (
        ("fail", "failed", "failed"),
        ("against", "failed", "passed"),
        ("for", "passed", "failed"),
    ):
        yield f"unjudged_{name}", rule, _judged(sample, ours, theirs)
    needed = rule.get("minValidPerCell", 5)
    if sample.repetitions > needed:
        first = _kept(sample, lambda row: row.repetition <= needed)
        yield "first_scheduled", rule, replace(first, repetitions=needed)
    for metric in sorted({one["metric"] for one in rule["conditions"] if one["metric"] not in RATES}):
        yield f"missing_{metric}_against", rule, _imputed(sample, metric, worst=True)
        yield f"missing_{metric}_for", rule, _imputed(sample, metric, worst=False)
    earlier = earlier_place(sample)
    for place in ("first", "second"):
        yield f"treatment_{place}", lax, _half(sample, earlier, place)
    for task in sorted(sample.tasks) if len(sample.tasks) > 1 else ():  # of one task nothing would be left
        left = tuple(each for each in sample.tasks if each != task)
        yield f"without_{task}", rule, replace(_kept(sample, _not_of(task)), tasks=left)


def _not_of(task: str) -> Callable[[Row], bool]:
    return lambda row: row.task != task


def _kept(sample: Sample, keep: Callable[[Row], bool]) -> Sample:
    return replace(sample, rows=tuple(row for row in sample.rows if keep(row)))


def earlier_place(sample: Sample) -> dict[str, int]:
    """The place in each block at which the earlier of both arms was scheduled."""
    found: dict[str, int] = {}
    for row in sample.rows:
        if row.arm in sample.pair:
            found[row.block] = min(row.place, found.get(row.block, row.place))
    return found


def _half(sample: Sample, earlier: dict[str, int], place: str) -> Sample:
    """Only blocks in which the treatment came first, or second; the rest was never run."""

    def kept(row: Row) -> Row:
        if row.arm not in sample.pair:
            return row
        treatment_first = (row.place == earlier[row.block]) == (row.arm == sample.treatment)
        return row if treatment_first == (place == "first") else replace(row, outcome="not_run", values={})

    return replace(sample, rows=tuple(map(kept, sample.rows)))


def _judged(sample: Sample, ours: str, theirs: str) -> Sample:
    """The last run of every entry that got no judgement gets one."""
    judged, replaced = {row.index for row in sample.rows if row.valid}, {row.replaces for row in sample.rows}
    outcomes = dict(zip(sample.pair, (ours, theirs), strict=True))

    def as_if(row: Row) -> Row:
        if row.index in judged or row.run in replaced or row.arm not in outcomes:
            return row
        return replace(row, outcome=outcomes[row.arm])

    return replace(sample, rows=tuple(map(as_if, sample.rows)))


def _imputed(sample: Sample, metric: str, *, worst: bool) -> Sample:
    """Missing values become the least or greatest that was measured in their task, in either arm."""
    seen: dict[str, list[Fraction]] = {}
    for row in sample.rows:
        has = row.values.get(metric)
        if row.valid and has is not None and has.number is not None:
            seen.setdefault(row.task, []).append(has.number)

    def filled(row: Row) -> Row:
        has = row.values.get(metric)
        absent = has is None or has.state == "missing"
        if not row.valid or not absent or row.task not in seen or row.arm not in sample.pair:
            return row
        chosen = max if (row.arm == sample.treatment) == worst else min
        return replace(row, values={**row.values, metric: Value("measured", chosen(seen[row.task]))})

    return replace(sample, rows=tuple(map(filled, sample.rows)))
