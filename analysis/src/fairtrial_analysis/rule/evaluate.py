"""A rule applied to results: one table of gate, observed, threshold, state and evidence, and the verdict. Pure.

Two gates are always there: the cohort is confirmatory, and its records are whole. Comparisons are exact: what was
printed is never compared. What can't be computed is unknown, which is neither true nor false.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fairtrial_analysis.rule.model import Budget, Condition, DecisionRule
from fairtrial_analysis.rule.observe import Observed, Real, observe
from fairtrial_analysis.rule.results import Results, problems
from fairtrial_analysis.rule.verdict import State, Verdict, conclude
from fairtrial_analysis.rule.view import View
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Value, missing

_NOT_MEASURED = missing("no_runtime_result")
_PROBLEMS_NAMED = 20


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    kind: Literal["gate", "condition", "budget"]
    name: str
    says: str
    state: State
    observed: Real | None = None
    interval: tuple[Real | None, Real | None] | None = None
    comparison: str = ""
    threshold: Fraction | None = None
    bound: str = "point"
    reason: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def holds(self) -> bool | None:
        """Three-valued: None is unknown."""
        return {"pass": True, "fail": False, "unknown": None}[self.state]


@dataclass(frozen=True)
class Decision:
    """The verdict, the step and the rows that made it, and the digests of what it was made by."""

    verdict: Verdict
    because: tuple[str, ...]
    lines: tuple[Line, ...]
    rule_sha256: str
    conventions_sha256: str


def evaluate(rule: DecisionRule, results: Results, conventions: Conventions = CONVENTIONS, seed: int = 0) -> Decision:
    """The decision. `seed` is the analysis seed; it matters only to bounds that are bootstrapped."""
    lines = tuple(_lines(View(rule, results, conventions, seed)))
    gates = [line for line in lines if line.kind == "gate"]
    others = [line for line in lines if line.kind != "gate"]
    verdict = conclude([line.state for line in gates], [line.holds for line in others], rule.order)
    return Decision(verdict, _because(verdict, gates, others, rule), lines, rule.sha256, conventions.sha256)


def compare(observed: Observed, condition: Condition) -> tuple[State, str]:
    """Whether a condition holds, and if that is unknown, why. What missing data could turn round is unknown."""
    value = observed.at(condition.bound)
    if value is None:
        return "unknown", observed.reason or "no_interval"
    highest = value if observed.at_most is None or condition.bound != "point" else observed.at_most
    held = {_holds(value, condition), _holds(highest, condition)}
    if len(held) > 1:
        return "unknown", "missing_values_could_decide_it"
    return ("pass" if held.pop() else "fail"), ""


def _holds(value: Real, condition: Condition) -> bool:
    exact, limit = Fraction(value), condition.limit
    return {
        "below": exact < limit,
        "atMost": exact <= limit,
        "above": exact > limit,
        "atLeast": exact >= limit,
    }[condition.comparison]


def _lines(view: View) -> Iterator[Line]:
    rule, results = view.rule, view.results
    stage = results.stage == "confirmatory"
    yield Line(
        "gate",
        "confirmatory",
        "The cohort is confirmatory.",
        "pass" if stage else "fail",
        reason="" if stage else results.stage,
    )
    yield _integrity(results)
    yield _cells(view)
    for name in rule.gates:
        shown = results.gates.get(name)
        state: State = shown.state if shown else "unknown"
        reason = (shown.reason if shown else "") or ("" if state == "pass" else "no_evidence")
        yield Line(
            "gate",
            name,
            "There is evidence for this gate.",
            state,
            reason=reason,
            evidence=shown.evidence if shown else (),
        )
    if rule.runtime_required:
        fixed = bool(rule.budgets)
        says = "Budgets for runtime were fixed before any result."
        yield Line(
            "gate", "runtime-budgets-fixed", says, "pass" if fixed else "fail", reason="" if fixed else "no_budgets"
        )
    for condition in rule.data_gates:
        yield _condition("gate", condition, view)
    for condition in rule.conditions:
        yield _condition("condition", condition, view)
    for budget in rule.budgets:
        yield _budget(budget, results.runtime.get(budget.metric, _NOT_MEASURED))


def _integrity(results: Results) -> Line:
    found = problems(results)
    says = "Every record belongs to the schedule, and everything scheduled is accounted for."
    state: State = "fail" if found else "pass"
    return Line(
        "gate",
        "integrity",
        says,
        state,
        len(found),
        None,
        "atMost",
        Fraction(0),
        reason="; ".join(found[:_PROBLEMS_NAMED]),
    )


def _cells(view: View) -> Line:
    fewest = min((len(trials) for trials in view.valid.values()), default=0)
    needed = view.rule.min_valid_per_cell
    short = [f"{task}/{arm}: {len(trials)}" for (task, arm), trials in view.valid.items() if len(trials) < needed]
    says = f"Each task has at least {needed} valid runs in each arm."
    state: State = "fail" if short or not view.valid else "pass"
    reason = "; ".join(short[:_PROBLEMS_NAMED])
    return Line(
        "gate",
        "valid-runs",
        says,
        state,
        fewest,
        None,
        "atLeast",
        Fraction(needed),
        reason=reason,
        evidence=view.evidence,
    )


def _condition(kind: Literal["gate", "condition"], condition: Condition, view: View) -> Line:
    found = observe(condition, view)
    state, reason = compare(found, condition)
    interval = None if found.low is None and found.high is None else (found.low, found.high)
    return Line(
        kind,
        condition.name,
        condition.says,
        state,
        found.value,
        interval,
        condition.comparison,
        condition.limit,
        condition.bound,
        reason,
        view.evidence,
    )


def _budget(budget: Budget, measured: Value) -> Line:
    limit = Fraction(budget.maximum)
    state: State = "unknown" if measured.value is None else "pass" if measured.value <= limit else "fail"
    return Line(
        "budget", budget.name, budget.says, state, measured.value, None, "atMost", limit, reason=measured.reason
    )


def _because(verdict: Verdict, gates: list[Line], others: list[Line], rule: DecisionRule) -> tuple[str, ...]:
    """The names of the rows that decided."""
    if verdict == "SUPPORTED":
        return tuple(line.name for line in others)
    held: dict[str, tuple[str, list[str]]] = {
        "gates": ("INCONCLUSIVE", [line.name for line in gates if line.state != "pass"]),
        "falseConditions": ("NOT SUPPORTED", [line.name for line in others if line.state == "fail"]),
        "undecidedConditions": ("INCONCLUSIVE", [line.name for line in others if line.state == "unknown"]),
    }
    return next((tuple(names) for step in rule.order if (names := held[step][1]) and held[step][0] == verdict), ())
