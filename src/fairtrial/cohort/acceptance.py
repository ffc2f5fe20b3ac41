"""Whether a cohort may be sealed: everything that is wrong with it, each with its field. Pure.

What one field alone decides was refused by `kubectl apply` already, as were the fields that a stage needs; here is what
follows from several together and would cost the API server too much.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from fairtrial import names, plans
from fairtrial.api.cohort import BenchmarkCohort, BenchmarkCohortSpec
from fairtrial.api.decision import Metric, RuleCondition, Step
from fairtrial.api.reading import parse
from fairtrial.api.run import BenchmarkRun
from fairtrial.cohort import runs
from fairtrial.cohort.differences import Difference, differences, provider_of
from fairtrial.cohort.schedule import Entry, block_name, run_name
from fairtrial.errors import InvalidInput

_COUNTS_TASKS = ("tasksLower", "tasksHigher", "criticalTasks")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: the field, and a sentence with what to do."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def problems(cohort: BenchmarkCohort) -> list[Problem]:
    """Everything that keeps this cohort from being sealed; empty if nothing does."""
    spec = cohort.spec
    found = [
        *_comparison(spec),
        *_roles(spec),
        *_tasks(spec),
        *_gates(spec),
        *_metrics(spec),
        *_rule(spec),
        *_replacement(spec),
        *_amendment(cohort),
    ]
    return [*found, *_candidates(cohort)]


# --- the condition that each mode needs -------------------------------------------------------------------------------
def _comparison(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    if len(spec.candidates) == 1:
        return
    found = differences(spec)
    declared = set(spec.treatment.parts) if spec.treatment else set()
    for index, part in enumerate(spec.treatment.parts if spec.treatment else ()):
        if part not in {one.aspect for one in found}:
            yield Problem(
                f"spec.treatment.parts[{index}]",
                f"{part} does not differ between the candidates, so it can't be the treatment; remove it, or give the "
                "candidates what the question is about.",
            )
    rest = [one for one in found if one.aspect not in declared]
    yield from {"mechanism": _mechanism, "endToEnd": _end_to_end, "composition": _composition}[spec.mode](spec, rest)


def _mechanism(_: BenchmarkCohortSpec, rest: Sequence[Difference]) -> Iterator[Problem]:
    for one in rest:
        if one.is_part:
            yield Problem(
                "spec.treatment.parts",
                f"a mechanism comparison may differ in the treatment only, but candidates differ in {one}; name it "
                "among the parts of the treatment, or make it equal.",
            )
        else:
            yield Problem(
                "spec.tasks" if one.aspect == "fixture" else "spec.candidates",
                f"a mechanism comparison needs one {one.aspect} for all candidates, but they differ in {one}; make it "
                "equal, or set mode to endToEnd and declare it.",
            )


def _end_to_end(spec: BenchmarkCohortSpec, rest: Sequence[Difference]) -> Iterator[Problem]:
    yield from _undeclared(spec, rest)
    if differences(spec) and not spec.constitution.confounders:
        yield Problem(
            "spec.constitution.confounders",
            "an endToEnd comparison must declare its confounders, and there are none; say what else differs between "
            "the systems, with aspect 'other' if nothing else fits.",
        )


def _composition(spec: BenchmarkCohortSpec, rest: Sequence[Difference]) -> Iterator[Problem]:
    for index, candidate in enumerate(spec.candidates):
        if not candidate.under.inner_runtime:
            yield Problem(
                f"spec.candidates[{index}].under.innerRuntime",
                f"a composition needs the inner runtime that is held fixed, and {candidate.name} does not name it; "
                "give name, version and digest.",
            )
    for one in rest:
        if one.aspect in ("innerRuntime", "model", "fixture"):
            yield Problem(
                "spec.tasks" if one.aspect == "fixture" else "spec.candidates",
                f"a composition holds its inner runtime fixed, but candidates differ in {one}; make it equal.",
            )
    if spec.treatment is None:
        yield Problem("spec.treatment", "a composition asks what its treatment adds; say what the treatment is.")
    roles = {candidate.role for candidate in spec.candidates}
    if not {"treatment", "control"} <= roles:
        yield Problem(
            "spec.candidates",
            "a composition needs the treatment on and off: give one candidate the role treatment and one the role "
            "control.",
        )
    yield from _undeclared(spec, [one for one in rest if one.aspect not in ("innerRuntime", "model", "fixture")])


def _undeclared(spec: BenchmarkCohortSpec, rest: Sequence[Difference]) -> Iterator[Problem]:
    declared = {confounder.aspect for confounder in spec.constitution.confounders}
    for one in rest:
        if one.aspect not in declared:
            where = "among the parts of the treatment or the confounders" if one.is_part else "among the confounders"
            yield Problem("spec.constitution.confounders", f"candidates differ in {one}; declare it {where}.")


def _roles(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    controls = [candidate.name for candidate in spec.candidates if candidate.role == "control"]
    if len(controls) > 1:
        yield Problem(
            "spec.candidates", f"{' and '.join(controls)} are both the control; a comparison has one, and treatments."
        )
    if spec.decision_rule is None:
        return
    if not controls:
        yield Problem("spec.candidates", "the decision rule compares with a control; give one candidate that role.")
    for index, candidate in enumerate(spec.candidates):
        if candidate.role is None:
            yield Problem(
                f"spec.candidates[{index}].role",
                f"{candidate.name} is neither treatment nor control, so the decision rule can't place it; say which.",
            )


# --- tasks, gates, rule, replacement ----------------------------------------------------------------------------------
def _tasks(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    known, first = {candidate.name for candidate in spec.candidates}, dict[str, str]()
    for index, task in enumerate(spec.tasks):
        field = f"spec.tasks[{index}]"
        if task.public_sha256 in first:
            yield Problem(
                f"{field}.publicSha256",
                f"{task.name} and {first[task.public_sha256]} are the same archive; a task would count twice.",
            )
        first.setdefault(task.public_sha256, task.name)
        seen: set[str] = set()
        for number, variant in enumerate(task.variants):
            where = f"{field}.variants[{number}].candidate"
            if variant.candidate not in known:
                yield Problem(where, f"there is no candidate {variant.candidate!r} in this cohort.")
            if variant.candidate in seen:
                yield Problem(where, f"{variant.candidate!r} has two variants of {task.name}; leave one.")
            seen.add(variant.candidate)


def _gates(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    if spec.stage != "confirmatory":
        return
    if not spec.gates:
        yield Problem(
            "spec.gates", "a confirmatory cohort rests on what was shown before it; name the gates and their evidence."
        )
    for index, gate in enumerate(spec.gates):
        if gate.needed == "seal" and not gate.evidence:
            yield Problem(
                f"spec.gates[{index}].evidence",
                f"gate {gate.name} has no evidence, so a confirmatory cohort can't be sealed; give address and digest.",
            )


def _metrics(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    primary = spec.constitution.primary_metrics
    repeated = sorted({metric for metric in primary if primary.count(metric) > 1})
    if repeated:
        yield Problem("spec.constitution.primaryMetrics", f"{', '.join(repeated)} stands there twice.")
    for index, metric in enumerate(spec.constitution.secondary_metrics):
        if metric not in get_args(Metric):
            field = f"spec.constitution.secondaryMetrics[{index}]"
            yield Problem(field, f"{metric} is no metric, so no report could tell it; remove it, or mend its name.")


def _rule(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    rule, primary = spec.decision_rule, spec.constitution.primary_metrics
    if rule is None:
        return
    gates = {gate.name for gate in spec.gates}
    for index, name in enumerate(rule.gates):
        if name not in gates:
            yield Problem(f"spec.decisionRule.gates[{index}]", f"there is no gate {name!r} among spec.gates.")
    if rule.min_valid_per_cell > spec.repetitions:
        yield Problem(
            "spec.decisionRule.minValidPerCell",
            f"asks for {rule.min_valid_per_cell} valid runs of each task and candidate, but only {spec.repetitions} "
            "are scheduled; no verdict could be reached.",
        )
    for index, condition in enumerate(rule.conditions):
        field = f"spec.decisionRule.conditions[{index}]"
        if condition.metric not in primary:
            yield Problem(
                f"{field}.metric",
                f"{condition.metric} is not among spec.constitution.primaryMetrics; a verdict rests on those only.",
            )
        yield from _threshold(field, condition, len(spec.tasks))
    for index, gate in enumerate(rule.data_gates):
        yield from _threshold(f"spec.decisionRule.dataGates[{index}]", gate, len(spec.tasks))
    if sorted(rule.order) != sorted(get_args(Step)):
        yield Problem("spec.decisionRule.order", f"must name each of {', '.join(get_args(Step))} once.")
    if rule.runtime_required and not rule.budgets:
        yield Problem("spec.decisionRule.budgets", "are required by runtimeRequired, and there are none.")


def _threshold(field: str, condition: RuleCondition, tasks: int) -> Iterator[Problem]:
    text = condition.threshold
    if condition.statistic in _COUNTS_TASKS:
        if condition.bound != "point":
            yield Problem(f"{field}.bound", "a number of tasks has no interval; set it to point.")
        if not text.isdecimal() or int(text) > tasks:
            yield Problem(f"{field}.threshold", f"must be a number of tasks, and there are {tasks}; {text} is none.")
    if "atio" in condition.statistic and text.startswith("-"):
        yield Problem(f"{field}.threshold", f"a ratio is never negative; {text} can't be a threshold of it.")


def _replacement(spec: BenchmarkCohortSpec) -> Iterator[Problem]:
    policy = spec.replacement
    if len(set(policy.reasons)) < len(policy.reasons):
        yield Problem("spec.replacement.reasons", "a reason stands there twice.")
    if policy.reasons and not policy.max_per_cell:
        yield Problem(
            "spec.replacement.maxPerCell",
            "is 0, so that the reasons say nothing; raise it, or leave the reasons out.",
        )


def _amendment(cohort: BenchmarkCohort) -> Iterator[Problem]:
    amends = cohort.spec.amends
    if amends is not None and amends.name == cohort.metadata.name:
        yield Problem("spec.amends.name", "a cohort can't amend itself; give the new one another name.")


# --- could the runs begin? --------------------------------------------------------------------------------------------
def _candidates(cohort: BenchmarkCohort) -> Iterator[Problem]:
    for index, candidate in enumerate(cohort.spec.candidates):
        field = f"spec.candidates[{index}]"
        run = _first_run(cohort, candidate.name)
        if any(names.MODEL_TOKEN in item for item in candidate.argv):
            yield Problem(f"{field}.argv", f"holds {names.MODEL_TOKEN}, but arguments are recorded; use env.")
        if plans.uses_a_model(run) and not provider_of(cohort.spec, candidate):
            yield Problem(
                f"{field}.modelProviderRef",
                f"{candidate.name} uses {{modelUrl}}, {{model}} or {{modelToken}}, but neither it nor "
                "spec.execution.network names a ModelProvider.",
            )
        try:
            plans.adapter_plan(run, None)
        except InvalidInput as error:
            yield Problem(f"{field}.adapter", str(error))


def _first_run(cohort: BenchmarkCohort, candidate: str) -> BenchmarkRun:
    task = cohort.spec.tasks[0].name
    entry = Entry(1, run_name(cohort.metadata.name, 1), block_name(task, 1), task, candidate, 1)
    return parse(BenchmarkRun, runs.run_manifest(cohort, entry))
