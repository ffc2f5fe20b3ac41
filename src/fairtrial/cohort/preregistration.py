"""The preregistration: one document that holds all that was fixed before the first run. Pure: same facts, same bytes.

It holds no time, no version of this software and nothing that changes after sealing, so that an operator that was
stopped in the middle of sealing makes the very same bytes when it comes back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial import documents
from fairtrial.api.base import digest
from fairtrial.api.cohort import Amends, BenchmarkCohort, BenchmarkCohortSpec
from fairtrial.api.provider import ModelProvider
from fairtrial.api.reading import parse
from fairtrial.api.resource_class import ResourceClass
from fairtrial.api.run import ResolvedProvider, ResolvedResourceClass, ResolvedTask
from fairtrial.api.task import BenchmarkTask
from fairtrial.cohort.acceptance import Problem
from fairtrial.cohort.differences import provider_of
from fairtrial.cohort.runs import candidate_json
from fairtrial.cohort.schedule import Entry, Schedule, check_size, make_schedule, schedule_of
from fairtrial.errors import InvalidInput

JsonObject = dict[str, Any]
KIND = "Preregistration"
_FREE = ("seal", "suspend", "cancel")  # of the spec: may change after sealing, so no part of it


@dataclass(frozen=True)
class Found:
    """The objects that a cohort names, as found; None where there is none."""

    tasks: Mapping[str, BenchmarkTask | None]
    resource_class: ResourceClass | None
    providers: Mapping[str, ModelProvider | None]
    amended: BenchmarkCohort | None = None


@dataclass(frozen=True)
class Resolved:
    """The objects that a sealed cohort names, as they were then."""

    tasks: Mapping[str, ResolvedTask]
    resource_class: ResolvedResourceClass
    providers: Mapping[str, ResolvedProvider]

    def changed(
        self, task: BenchmarkTask, resource_class: ResourceClass, provider: ModelProvider | None
    ) -> list[Problem]:
        """What of a run's objects is another than was sealed. One that was made anew to the same effect is none."""
        found = []
        task_name, class_name = task.metadata.name, resource_class.metadata.name
        now = ResolvedTask.of(task)
        different = _different(self.tasks.get(task_name), now)
        if different:
            found.append(Problem("spec.taskRef", f"BenchmarkTask {task_name!r} has another {different}"))
        if not _same_class(self.resource_class, ResolvedResourceClass.of(resource_class)):
            found.append(Problem("spec.resourceClassName", f"ResourceClass {class_name!r} has another spec"))
        if provider is not None:
            name = provider.metadata.name
            different = _different(self.providers.get(name), ResolvedProvider.of(provider))
            if different:
                found.append(Problem("spec.network", f"ModelProvider {name!r} has another {different}"))
        return found


def task_names(cohort: BenchmarkCohort) -> list[str]:
    """Names of all BenchmarkTasks that the cohort's runs need."""
    found = {task.name for task in cohort.spec.tasks} | {
        variant.name for task in cohort.spec.tasks for variant in task.variants
    }
    return sorted(found)


def provider_names(cohort: BenchmarkCohort) -> list[str]:
    """Names of all ModelProviders that the cohort's runs need."""
    return sorted({provider_of(cohort.spec, candidate) for candidate in cohort.spec.candidates} - {""})


def document(cohort: BenchmarkCohort, found: Found) -> JsonObject:
    """The preregistration of a cohort for which `problems_of` finds nothing."""
    assert found.resource_class is not None
    spec, schedule = cohort.spec, schedule_of(cohort)
    frozen = {key: value for key, value in spec.as_json().items() if key not in (*_FREE, "tasks", "candidates")}
    tasks = {name: ResolvedTask.of(task).as_json() for name, task in sorted(found.tasks.items()) if task}
    providers = {name: ResolvedProvider.of(one).as_json() for name, one in sorted(found.providers.items()) if one}
    return {
        "schemaVersion": 1,
        "kind": KIND,
        "cohort": {
            "namespace": cohort.metadata.namespace,
            "name": cohort.metadata.name,
            "uid": cohort.metadata.uid,
            "specSha256": spec_sha256(cohort),
        },
        "spec": frozen,
        "tasks": [task.as_json() for task in sorted(spec.tasks, key=lambda task: task.name)],
        "candidates": [
            _candidate(cohort, one.name) for one in sorted(spec.candidates, key=lambda candidate: candidate.name)
        ],
        "constitutionSha256": digest(frozen["constitution"]),
        "decisionRuleSha256": digest(frozen["decisionRule"]) if "decisionRule" in frozen else None,
        "resolved": {
            "tasks": tasks,
            "resourceClass": ResolvedResourceClass.of(found.resource_class).as_json(),
            "providers": providers,
            **_amended(spec.amends, found.amended),
        },
        "scheduleSha256": schedule.sha256,
        "schedule": documents.to_json(schedule),
    }


def _amended(amends: Amends | None, found: BenchmarkCohort | None) -> JsonObject:
    if amends is None:
        return {}
    sealed = found.status.preregistration_sha256 if found else amends.preregistration_sha256
    uid = {"uid": found.metadata.uid} if found else {}
    return {"amends": {"name": amends.name, "preregistrationSha256": sealed} | uid}


def to_bytes(preregistration: JsonObject) -> bytes:
    """The canonical bytes, whose SHA-256 is in every record of the cohort."""
    return documents.dump(preregistration)


def spec_sha256(cohort: BenchmarkCohort) -> str:
    """SHA-256 of what sealing freezes, as canonical JSON."""
    return digest({key: value for key, value in cohort.spec.as_json().items() if key not in _FREE})


def schedule_in(preregistration: JsonObject) -> Schedule:
    """The schedule that a preregistration holds, read strictly; InvalidInput where it is none."""
    raw = preregistration.get("schedule")
    made: Schedule = documents.from_json(Schedule, raw, "schedule")
    check_size(made.tasks, made.candidates, made.repetitions)
    return made


def spec_in(preregistration: JsonObject) -> BenchmarkCohortSpec:
    """The spec that was frozen, read as strictly as when it was applied; InvalidInput with the field that does not fit.

    Whoever computes from a stored document may then rely on its shape.
    """
    frozen, candidates = preregistration.get("spec"), preregistration.get("candidates")
    if not isinstance(frozen, dict) or not isinstance(candidates, list):
        raise InvalidInput("preregistration: has no spec or no candidates.")
    raw = frozen | {"tasks": preregistration.get("tasks"), "candidates": [_as_applied(one) for one in candidates]}
    return parse(BenchmarkCohortSpec, raw, name="preregistration")


def _as_applied(candidate: Any) -> Any:
    """A sealed candidate as the spec has it; what is none is left for the reader to refuse."""
    if not isinstance(candidate, dict) or not isinstance(candidate.get("configuration"), dict):
        return None
    kept = {key: candidate[key] for key in ("name", "role", "under") if candidate.get(key)}
    return candidate["configuration"] | kept


def resolved_in(preregistration: JsonObject) -> Resolved:
    """The objects that a preregistration was sealed with; InvalidInput where it does not say."""
    raw = preregistration.get("resolved")
    if not isinstance(raw, dict) or not all(
        isinstance(raw.get(key), dict) for key in ("tasks", "resourceClass", "providers")
    ):
        raise InvalidInput("preregistration: does not say what its objects were resolved to.")
    return Resolved(
        tasks={name: parse(ResolvedTask, one, name=name) for name, one in raw["tasks"].items()},
        resource_class=parse(ResolvedResourceClass, raw["resourceClass"], name="resourceClass"),
        providers={name: parse(ResolvedProvider, one, name=name) for name, one in raw["providers"].items()},
    )


def _different(sealed: ResolvedTask | ResolvedProvider | None, now: ResolvedTask | ResolvedProvider) -> str:
    """The first field that differs; empty if none does. Their objects can't be edited, so one UID is one spec."""
    if sealed is None:
        return "name"
    if sealed.uid == now.uid:
        return ""
    before, after = sealed.as_json(), now.as_json()
    return next((key for key in sorted({*before, *after} - {"uid"}) if before.get(key) != after.get(key)), "")


def _same_class(sealed: ResolvedResourceClass, now: ResolvedResourceClass) -> bool:
    """By UID and generation first: a newer version of this software may give the same spec another digest."""
    return (sealed.uid, sealed.generation) == (now.uid, now.generation) or sealed.spec_sha256 == now.spec_sha256


def verify(data: bytes) -> list[Problem]:
    """What in a stored preregistration contradicts itself: the schedule its seed, or a digest what it is of."""
    try:
        held: JsonObject = documents.load(dict[str, Any], data, name="preregistration")
        schedule = schedule_in(held)
        names = {key: [one["name"] for one in held[key]] for key in ("tasks", "candidates")}
        spec, candidates = held["spec"], held["candidates"]
        expected = make_schedule(
            held["cohort"]["name"], spec["schedule"]["seed"], names["tasks"], names["candidates"], spec["repetitions"],
            algorithm=spec["schedule"]["algorithm"],
        )  # fmt: skip
        return [
            *([] if to_bytes(held) == data else [Problem("preregistration", "is not in its canonical form.")]),
            *_schedule_problems(schedule, expected),
            *_digest_problems(held, spec, candidates, schedule),
        ]
    except (InvalidInput, KeyError, TypeError) as error:
        return [Problem("preregistration", f"can't be read: {error}.")]


def _schedule_problems(schedule: Schedule, expected: Schedule) -> list[Problem]:
    for given, made in zip(schedule.entries, expected.entries, strict=False):
        if given != made:
            field = f"schedule.entries[{made.index - 1}]"
            return [Problem(field, f"is {_brief(given)}, but seed {expected.seed} makes it {_brief(made)}.")]
    if len(schedule.entries) != len(expected.entries):
        return [Problem("schedule.entries", f"has {len(schedule.entries)} runs, not {len(expected.entries)}.")]
    return [] if schedule == expected else [Problem("schedule", "does not name what it was made from.")]


def _brief(entry: Entry) -> str:
    return f"{entry.run} ({entry.task}, {entry.candidate}, {entry.repetition})"


def _digest_problems(
    held: JsonObject, spec: JsonObject, candidates: list[JsonObject], schedule: Schedule
) -> list[Problem]:
    """Each digest against the content beside it."""
    pairs = {
        "scheduleSha256": (held["scheduleSha256"], schedule.sha256),
        "constitutionSha256": (held["constitutionSha256"], digest(spec["constitution"])),
        "decisionRuleSha256": (
            held["decisionRuleSha256"],
            digest(spec["decisionRule"]) if "decisionRule" in spec else None,
        ),
    } | {
        f"candidates[{index}].configurationSha256": (one["configurationSha256"], digest(one["configuration"]))
        for index, one in enumerate(candidates)
    }
    return [
        Problem(field, f"is {said}, but what stands there has {has}.")
        for field, (said, has) in pairs.items()
        if said != has
    ]


def _candidate(cohort: BenchmarkCohort, name: str) -> JsonObject:
    """A candidate with its whole configuration and the digest that every record of it has."""
    found = next(one for one in cohort.spec.candidates if one.name == name)
    configuration = candidate_json(cohort, name)
    return {
        "name": name,
        "role": found.role,
        "under": found.under.as_json(),
        "modelProvider": provider_of(cohort.spec, found) or None,
        "configuration": configuration,
        "configurationSha256": digest(configuration),
    }
