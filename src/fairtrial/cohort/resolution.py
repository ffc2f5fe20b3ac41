"""Whether the objects that a cohort names are there, and are what it says. Pure; before the seal.

What the cohort's own text decides is in `acceptance`; what became of the objects after the seal, in `preregistration`.
"""

from collections.abc import Iterator, Mapping

from fairtrial.api.cohort import Amends, BenchmarkCohort
from fairtrial.api.task import BenchmarkTask
from fairtrial.cohort.acceptance import Problem
from fairtrial.cohort.preregistration import Found, provider_names

# Of a task's spec: the request, and the budgets under which it is worked at.
_SHARED_BY_VARIANTS = ("steps", "limits", "publicCriteria", "toolServers", "evaluateSeconds")


def problems_of(cohort: BenchmarkCohort, found: Found) -> list[Problem]:
    """What of the named objects is missing or other than the cohort says."""
    spec, made = cohort.spec, list[Problem]()
    for index, task in enumerate(spec.tasks):
        field = f"spec.tasks[{index}]"
        made += _task_problems(field, (task.name, task.public_sha256, task.sealed_sha256), found.tasks)
        for number, variant in enumerate(task.variants):
            where = f"{field}.variants[{number}]"
            made += _task_problems(where, (variant.name, variant.public_sha256, variant.sealed_sha256), found.tasks)
            made += _variant_problems(where, found.tasks.get(task.name), found.tasks.get(variant.name))
    if found.resource_class is None:
        name = spec.execution.resource_class_name
        made.append(Problem("spec.execution.resourceClassName", f"there is no ResourceClass {name!r}; create it."))
    return [*made, *_provider_problems(cohort, found), *_amendment_problems(spec.amends, found.amended)]


def _provider_problems(cohort: BenchmarkCohort, found: Found) -> Iterator[Problem]:
    spec, used = cohort.spec, provider_names(cohort)
    wanted = [("spec.execution.network.modelProviderRef", spec.execution.network.model_provider_ref)]
    wanted += [
        (f"spec.candidates[{index}].modelProviderRef", one.model_provider_ref)
        for index, one in enumerate(spec.candidates)
    ]
    for field, ref in wanted:
        if ref is not None and ref.name in used and found.providers.get(ref.name) is None:
            yield Problem(field, f"there is no ModelProvider {ref.name!r} here; create it.")


def _variant_problems(field: str, task: BenchmarkTask | None, variant: BenchmarkTask | None) -> list[Problem]:
    """A variant is the same request, under the same budgets, on another fixture; nothing else of it may differ."""
    if task is None or variant is None:
        return []
    before, after = task.spec.as_json(), variant.spec.as_json()
    return [
        Problem(
            field,
            f"task {variant.metadata.name!r} has other {key} than {task.metadata.name!r}, but every candidate must get "
            "the same request under the same budgets; push one that differs in its fixture only.",
        )
        for key in _SHARED_BY_VARIANTS
        if before.get(key) != after.get(key)
    ]


def _amendment_problems(amends: Amends | None, found: BenchmarkCohort | None) -> list[Problem]:
    """What is amended was sealed, and is the one that is meant: names are given again."""
    if amends is None:
        return []
    said, has = amends.preregistration_sha256, found.status.preregistration_sha256 if found else None
    if found is None and said is None:
        why = (
            f"there is no cohort {amends.name!r} here; mend the name, or state its preregistrationSha256 if it is gone."
        )
        return [Problem("spec.amends", why)]
    if found is not None and has is None:
        why = f"cohort {amends.name!r} is not sealed, so there is nothing to amend; edit that one."
        return [Problem("spec.amends", why)]
    if found is not None and said not in (None, has):
        why = f"is {said}, but cohort {amends.name!r} was sealed as {has}; name the one that is meant."
        return [Problem("spec.amends.preregistrationSha256", why)]
    return []


def _task_problems(
    field: str, wanted: tuple[str, str, str], tasks: Mapping[str, BenchmarkTask | None]
) -> list[Problem]:
    name, *digests = wanted
    task = tasks.get(name)
    if task is None:
        return [Problem(f"{field}.name", f"there is no BenchmarkTask {name!r} here; push it: fairtrial task push.")]
    archives = {"publicSha256": task.spec.public_archive.sha256, "sealedSha256": task.spec.sealed_archive.sha256}
    return [
        Problem(f"{field}.{key}", f"is {asked}, but task {name!r} has {has}; name the digest of what is meant.")
        for (key, has), asked in zip(archives.items(), digests, strict=True)
        if has != asked
    ]
