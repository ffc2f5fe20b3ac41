"""The verdict under other readings of the same records: which of them would change it. Pure.

None of them is the verdict; each answers "what if you had". Order effects are looked at by taking each half of the
blocks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from fairtrial_analysis.rule.evaluate import Decision, evaluate
from fairtrial_analysis.rule.model import DecisionRule
from fairtrial_analysis.rule.results import Design, Results, Trial
from fairtrial_analysis.rule.verdict import Verdict
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Number, measured


@dataclass(frozen=True)
class Variant:
    """One other reading, its verdict, and whether that differs."""

    name: str
    says: str
    verdict: Verdict
    because: tuple[str, ...]
    changed: bool


def stability(
    rule: DecisionRule, results: Results, conventions: Conventions = CONVENTIONS, seed: int = 0
) -> tuple[Variant, ...]:
    """All readings, in a fixed order."""
    base = evaluate(rule, results, conventions, seed)
    return tuple(
        _variant(name, says, base, evaluate(used, other, conventions, seed))
        for name, says, used, other in _readings(rule, results)
    )


def _variant(name: str, says: str, base: Decision, other: Decision) -> Variant:
    return Variant(name, says, other.verdict, other.because, other.verdict != base.verdict)


def _readings(rule: DecisionRule, results: Results) -> Iterator[tuple[str, str, DecisionRule, Results]]:
    # a part of the runs can't have as many valid ones as the whole
    gates = [each for each in rule.data_gates if each.statistic != "unjudgedRate"]
    lax = replace(rule, min_valid_per_cell=1, data_gates=gates)
    yield "without_replacements", "Runs that replace others are left out.", lax, _without_replacements(results)
    yield (
        "unjudged_fail",
        "Every run without a judgement counts as failed.",
        rule,
        _judged(results, ("failed", "failed"), rule),
    )
    yield (
        "unjudged_against",
        "Unjudged runs count against the treatment.",
        rule,
        _judged(results, ("failed", "passed"), rule),
    )
    yield "unjudged_for", "Unjudged runs count for the treatment.", rule, _judged(results, ("passed", "failed"), rule)
    needed = rule.min_valid_per_cell
    if results.design.repetitions > needed:
        says = f"Only the first {needed} scheduled repetitions count."
        yield "first_scheduled", says, rule, _first(results, needed)
    for metric in sorted({each.metric for each in rule.conditions if METRICS[each.metric].kind != "rate"}):
        for name, worst in (("against", True), ("for", False)):
            says = f"Missing {metric} is as {'bad' if worst else 'good'} for the treatment as any measured in its task."
            yield f"missing_{metric}_{name}", says, rule, _imputed(results, metric, rule, worst=worst)
    for first in (True, False):
        place = "first" if first else "second"
        kept = _kept(results, lambda trial, first=first: _treatment_first(trial, rule) in (None, first))  # type: ignore[misc]
        yield f"treatment_{place}", f"Only blocks in which the treatment ran {place}.", lax, kept
    for task in sorted(results.design.tasks) if len(results.design.tasks) > 1 else ():
        yield f"without_{task}", f"Task {task} is left out.", rule, _without_task(results, task)


def _treatment_first(trial: Trial, rule: DecisionRule) -> bool | None:
    if trial.first_in_block is None:
        return None
    return trial.first_in_block == (trial.arm == rule.treatment)


def _without_replacements(results: Results) -> Results:
    return replace(results, trials=tuple(trial for trial in results.trials if trial.replaces is None))


def _kept(results: Results, keep: Callable[[Trial], bool]) -> Results:
    """What is not kept was never run, so that the accounting still holds."""
    trials = tuple(t if keep(t) else replace(t, outcome="not_run", values={}) for t in results.trials)
    return replace(results, trials=trials)


def _first(results: Results, repetitions: int) -> Results:
    trials = tuple(trial for trial in results.trials if trial.repetition <= repetitions)
    return replace(results, design=replace(results.design, repetitions=repetitions), trials=trials)


def _without_task(results: Results, task: str) -> Results:
    design = results.design
    left = Design(tuple(each for each in design.tasks if each != task), design.arms, design.repetitions)
    return replace(results, design=left, trials=tuple(trial for trial in results.trials if trial.task != task))


def _judged(results: Results, outcomes: tuple[str, str], rule: DecisionRule) -> Results:
    """The last run of every slot that never got a judgement gets one; (treatment, control)."""
    as_if = dict(zip((rule.treatment, rule.control), outcomes, strict=True))
    judged = {trial.slot for trial in results.trials if trial.valid}
    replaced = {trial.replaces for trial in results.trials}
    trials = tuple(
        trial
        if trial.slot in judged or trial.run in replaced or trial.arm not in as_if
        else replace(trial, outcome="passed" if as_if[trial.arm] == "passed" else "failed")
        for trial in results.trials
    )
    return replace(results, trials=trials)


def _imputed(results: Results, metric: str, rule: DecisionRule, *, worst: bool) -> Results:
    """Missing values become the least or greatest that was measured in their task, in either arm."""
    seen: dict[str, list[Number]] = defaultdict(list)
    for trial in results.trials:
        value = trial.values.get(metric)
        if trial.valid and value is not None and value.value is not None:
            seen[trial.task].append(value.value)

    def filled(trial: Trial) -> Trial:
        value = trial.values.get(metric)
        absent = value is None or value.state == "missing"
        if not trial.valid or not absent or not seen[trial.task] or trial.arm not in (rule.treatment, rule.control):
            return trial
        high = (trial.arm == rule.treatment) == worst
        number = Fraction(max(seen[trial.task]) if high else min(seen[trial.task]))
        return replace(trial, values={**trial.values, metric: measured(number)})

    return replace(results, trials=tuple(map(filled, results.trials)))
