"""From an entry of the schedule to the BenchmarkRun that carries it out. Pure: the same entry gives the same object."""

from typing import Any

from fairtrial import names
from fairtrial.api.candidate import Candidate
from fairtrial.api.cohort import BenchmarkCohort
from fairtrial.api.run import Replaced
from fairtrial.cohort.differences import fixture_of, provider_of
from fairtrial.cohort.schedule import Entry, replacement_name

JsonObject = dict[str, Any]
_OWN = frozenset(info.alias or name for name, info in Candidate.model_fields.items())


def run_manifest(cohort: BenchmarkCohort, entry: Entry, *, preregistration_sha256: str = "") -> JsonObject:
    """The run of a scheduled entry, ready to be created."""
    return _manifest(cohort, entry, entry.run, preregistration_sha256)


def replacement_manifest(
    cohort: BenchmarkCohort, entry: Entry, replaced: Replaced, number: int, *, preregistration_sha256: str = ""
) -> JsonObject:
    """The `number`-th replacement, from 1, of an entry: its identity is the scheduled one, and it names whose place it
    takes."""
    made = _manifest(cohort, entry, replacement_name(entry.run, number), preregistration_sha256)
    made["spec"]["replaces"] = replaced.as_json()
    return made


def candidate_json(cohort: BenchmarkCohort, name: str) -> JsonObject:
    """The candidate as its runs hold it: without what only the comparison needs."""
    found = next(candidate for candidate in cohort.spec.candidates if candidate.name == name)
    return {key: value for key, value in found.as_json().items() if key in _OWN}


def _manifest(cohort: BenchmarkCohort, entry: Entry, name: str, preregistration_sha256: str) -> JsonObject:
    spec = cohort.spec
    task = next(one for one in spec.tasks if one.name == entry.task)
    candidate = next(one for one in spec.candidates if one.name == entry.candidate)
    task_name, public, sealed = fixture_of(task, entry.candidate)
    provider = provider_of(spec, candidate)
    follows = {"preregistrationSha256": preregistration_sha256} if preregistration_sha256 else {}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "BenchmarkRun",
        "metadata": {
            "name": name,
            "namespace": cohort.metadata.namespace,
            "labels": {names.COHORT_LABEL: cohort.metadata.name},
            "ownerReferences": [
                {
                    "apiVersion": names.API_VERSION,
                    "kind": "BenchmarkCohort",
                    "name": cohort.metadata.name,
                    "uid": cohort.metadata.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "taskRef": {"name": task_name, "publicSha256": public, "sealedSha256": sealed},
            "candidate": candidate_json(cohort, entry.candidate),
            "resourceClassName": spec.execution.resource_class_name,
            "limits": spec.execution.limits.as_json(),
            "network": {"modelProviderRef": {"name": provider}} if provider else {},
            **({"queue": spec.execution.queue} if spec.execution.queue else {}),
            "repetition": entry.repetition,
            "block": entry.block,
            "cohortRef": {"name": cohort.metadata.name, "index": entry.index} | follows,
        },
    }
