"""Whether a run may begin. Pure: the first thing that is wrong becomes a reason and a next move, in a condition.

What `kubectl apply` can see was refused there already; here is what only the operator sees: other objects.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial import names, plans
from fairtrial.api import (
    BenchmarkCohort,
    BenchmarkRun,
    BenchmarkRunSpec,
    BenchmarkTask,
    ModelProvider,
    Reason,
    ResourceClass,
    is_true,
)
from fairtrial.api.conditions import COMPLETE
from fairtrial.cohort.preregistration import Resolved
from fairtrial.errors import InvalidInput
from fairtrial_operator.build import PodSettings, access_of

PSS_LABEL = "pod-security.kubernetes.io/enforce"
_AS_SEALED = "Put back what was sealed, and the run goes on; or make a new cohort that amends this one."


@dataclass(frozen=True)
class NamespaceView:
    """A run's namespace: its labels, and whether the static policies and the account are in place."""

    name: str
    labels: Mapping[str, str]
    selected: bool
    prepared: bool
    terminating: bool = False


@dataclass(frozen=True)
class Ticket:
    """What a cohort's ledger says about a run that claims to be one of its runs."""

    owned: bool  # whether the cohort controls the run
    given: bool | None  # whether it may run now; None while the ledger is not known
    spec: BenchmarkRunSpec | None = None  # what it has to be
    sealed: Resolved | None = None  # what the objects that it names have to be


@dataclass(frozen=True)
class References:
    """What the run names, as found; None where there is no such object."""

    namespace: NamespaceView | None
    task: BenchmarkTask | None
    resource_class: ResourceClass | None
    provider: ModelProvider | None = None
    cohort: BenchmarkCohort | None = None
    ticket: Ticket | None = None


@dataclass(frozen=True)
class Refusal:
    """Why not, and what to do. `passing` marks what is about to change without anybody's doing."""

    reason: str
    message: str
    passing: bool = False


def refusal(run: BenchmarkRun, found: References, settings: PodSettings) -> Refusal | None:
    """The first reason why this run can't begin, or None."""
    return _namespace(run, found.namespace) or _references(run, found) or _plan(run, found, settings)


def _namespace(run: BenchmarkRun, namespace: NamespaceView | None) -> Refusal | None:
    name = run.metadata.namespace
    if namespace is None or not namespace.selected:
        return Refusal(
            Reason.NAMESPACE_NOT_ENABLED,
            f"Namespace {name} does not take part. Run: kubectl label namespace {name} {names.NAMESPACE_LABEL}=true",
        )
    if namespace.terminating:
        return Refusal(Reason.NAMESPACE_NOT_ENABLED, f"Namespace {name} is being deleted.")
    enforced = namespace.labels.get(PSS_LABEL)
    if enforced != "restricted":
        return Refusal(
            Reason.POD_SECURITY_NOT_ENFORCED,
            f"Namespace {name} enforces Pod Security {enforced or 'nothing'!r}, not 'restricted'. "
            f"Run: kubectl label --overwrite namespace {name} {PSS_LABEL}=restricted",
        )
    if not namespace.prepared:
        return Refusal(Reason.PENDING, f"The network policies of namespace {name} are being put in place.", True)
    return None


def _references(run: BenchmarkRun, found: References) -> Refusal | None:
    ref, network, cohort_ref = run.spec.task_ref, run.spec.network, run.spec.cohort_ref
    if found.task is None:
        return Refusal(
            Reason.TASK_NOT_FOUND,
            f"spec.taskRef: there is no BenchmarkTask {ref.name!r} in this namespace. Push it: fairtrial task push",
        )
    archives = found.task.spec.public_archive, found.task.spec.sealed_archive
    for field, asked, archive in zip(
        ("publicSha256", "sealedSha256"), (ref.public_sha256, ref.sealed_sha256), archives, strict=True
    ):
        if asked is not None and asked != archive.sha256:
            return Refusal(
                Reason.DIGEST_MISMATCH,
                f"spec.taskRef.{field} is {asked}, but task {ref.name!r} has {archive.sha256}. "
                + (_AS_SEALED if cohort_ref is not None else "Make a run that names the digest it is meant for."),
            )
    if found.resource_class is None:
        return Refusal(
            Reason.RESOURCE_CLASS_NOT_FOUND,
            f"spec.resourceClassName: there is no ResourceClass {run.spec.resource_class_name!r}. "
            "See: kubectl get resourceclasses",
        )
    if network.model_provider_ref is not None and found.provider is None:
        return Refusal(
            Reason.MODEL_PROVIDER_NOT_FOUND,
            f"spec.network.modelProviderRef: there is no ModelProvider {network.model_provider_ref.name!r} "
            "in this namespace. See: kubectl get modelproviders",
        )
    if any(names.MODEL_TOKEN in item for item in run.spec.candidate.argv):
        return Refusal(
            Reason.CANDIDATE_UNUSABLE,
            f"spec.candidate.argv holds {names.MODEL_TOKEN}, but arguments are recorded. "
            "Make a run whose candidate has it in env or homeFiles.",
        )
    if unavailable := plans.unavailable(run, tools=bool(found.task.spec.tool_servers)):
        return Refusal(
            Reason.CANDIDATE_UNUSABLE,
            f"spec.candidate uses {', '.join(unavailable)}. A model needs spec.network.modelProviderRef (see: kubectl "
            "get modelproviders), {toolUrl} a task that allows tool servers. Make a run that has them.",
        )
    if cohort_ref is not None and found.cohort is None:
        return Refusal(
            Reason.COHORT_NOT_FOUND,
            f"spec.cohortRef: there is no BenchmarkCohort {cohort_ref.name!r} in this namespace. Create it first.",
        )
    return _cohort(run, found, found.cohort) or _as_sealed(found) if found.cohort is not None else None


def _cohort(run: BenchmarkRun, found: References, cohort: BenchmarkCohort) -> Refusal | None:
    """A run that names a cohort is one that its schedule names, made by the operator after the seal."""
    name, ticket = cohort.metadata.name, found.ticket
    if cohort.status.preregistration_sha256 is None:
        return Refusal(Reason.COHORT_NOT_SEALED, f"Cohort {name!r} is not sealed: no run may begin before it is.")
    if is_true(cohort.status.conditions, COMPLETE):
        return Refusal(Reason.NOT_SCHEDULED, f"Cohort {name!r} is complete: no further run of it may begin.")
    if ticket is None or ticket.given is None:
        return Refusal(Reason.PENDING, f"The ledger of cohort {name!r} is being read.", True)
    if not ticket.owned or not ticket.given or ticket.spec != _as_made(run.spec):
        return Refusal(
            Reason.NOT_SCHEDULED,
            f"Cohort {name!r} has no such run: its runs are made from its schedule, and by the operator alone. "
            "Delete this one, or make it without spec.cohortRef.",
        )
    return None


def _as_sealed(found: References) -> Refusal | None:
    """A cohort's runs are carried out with the objects that it was sealed with, or not at all."""
    if found.ticket is None or found.ticket.sealed is None or found.task is None or found.resource_class is None:
        return None
    changed = found.ticket.sealed.changed(found.task, found.resource_class, found.provider)
    told = "; ".join(str(one) for one in changed)
    return Refusal(Reason.CHANGED_SINCE_SEAL, f"{told} than when the cohort was sealed. {_AS_SEALED}") if told else None


def _as_made(spec: BenchmarkRunSpec) -> BenchmarkRunSpec:
    """A spec without what may change after its creation."""
    return spec.model_copy(update={"suspend": False, "cancel": None})


def _plan(run: BenchmarkRun, found: References, settings: PodSettings) -> Refusal | None:
    assert found.task is not None
    assert found.resource_class is not None
    access = access_of(found.task, settings, found.provider.spec.model if found.provider else None)
    try:
        why = plans.too_large(plans.agent_plan(run, found.task, found.resource_class, settings.probes, access))
    except InvalidInput as error:
        return Refusal(Reason.CANDIDATE_UNUSABLE, f"spec.candidate: {error}")
    return Refusal(Reason.NOT_SUPPORTED, f"spec.candidate: {why}") if why else None
