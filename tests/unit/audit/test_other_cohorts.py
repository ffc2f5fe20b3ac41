"""Cohorts of other kinds: what the analysis makes of them follows, in code that shares nothing with it."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from fairtrial.audit.verify import Result
from tests.unit.audit.world import AT, base, cohort, condition, happened, packaged

Checked = Callable[[dict[str, bytes]], Result]
RATES = (
    "pooledDifference", "worstCaseDifference", "criticalExcess", "criticalTasks", "unjudgedRate", "differentialLossP",
    "treatmentValue",
)  # fmt: skip
AMOUNTS = (
    "medianTaskRatio", "worstLeaveOneOutRatio", "perSuccessRatio", "allRunsMedianRatio", "tasksHigher", "coverage",
    "controlValue", "pooledMedianRatio",
)  # fmt: skip


def rule(*conditions: dict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = cohort().spec.as_json()["decisionRule"]
    return given | {"minValidPerCell": 2, "conditions": list(conditions)}


def without_roles() -> list[dict[str, Any]]:
    candidates = cohort().spec.as_json()["candidates"]
    return [{key: value for key, value in one.items() if key != "role"} for one in candidates]


def test_a_pilot_without_a_rule_has_numbers_and_no_verdict(checked: Checked):
    result = checked(packaged(happened(cohort(stage="pilot", decisionRule=None, analysis=None))))

    assert (result.findings.codes, result.verdict) == (set(), "")


def test_candidates_without_roles_are_described_and_not_compared(checked: Checked):
    result = checked(packaged(happened(cohort(stage="pilot", decisionRule=None, candidates=without_roles()))))

    assert (result.findings.codes, result.verdict) == (set(), "")


def test_every_statistic_that_a_rule_may_name_follows(checked: Checked):
    conditions = [condition(name.lower(), "success_rate", name, "atMost", "0.5") for name in RATES]
    conditions += [condition(name.lower(), "accounted_tokens", name, "atMost", "2") for name in AMOUNTS]
    conditions.append(condition("duration", "duration_ms", "difference", "atMost", "2", "upper95"))

    assert checked(packaged(happened(cohort(decisionRule=rule(*conditions))))).findings.codes == set()


def test_drawn_bounds_are_followed_from_their_seed(checked: Checked):
    drawn = [
        condition(f"pooled-{bound}", "accounted_tokens", "pooledMedianRatio", "below", "1", bound)
        for bound in ("lower95", "upper95")
    ]

    result = checked(packaged(happened(cohort(decisionRule=rule(*drawn)))))
    gated = checked(packaged(happened(cohort(decisionRule=rule(drawn[0]) | {"dataGates": [drawn[1]]}))))

    assert (result.findings.codes, gated.findings.codes) == (set(), set())
    assert result.verdict in ("SUPPORTED", "NOT SUPPORTED")
    assert gated.verdict


def test_a_cancelled_cohort_is_accounted_for(checked: Checked):
    world = base()
    kept = {f"cohort-1-{number:05d}" for number in range(1, 11)} | {"cohort-1-00007-r1"}
    world.records = {run: record for run, record in world.records.items() if run in kept}
    world.blobs = {path: data for path, data in world.blobs.items() if path.split("/")[1] in {*kept, "sha256"}}
    *pages, (end, last) = [(at, [one for one in page if one.get("run", "") in {*kept, ""}]) for at, page in world.pages]
    ended = Counter(record["classification"]["outcome"] for record in world.records.values())
    last[0]["counts"] = {"scheduled": 20, "replacements": 1, "notRun": 10, **ended}
    cancelled = (AT.format(22, 0), [{"kind": "cancelled", "reason": "Enough."}])
    world.pages = [*((at, page) for at, page in pages if page), cancelled, (end, last)]

    result = checked(packaged(world))

    assert (result.findings.codes, result.verdict) == (set(), "INCONCLUSIVE")
