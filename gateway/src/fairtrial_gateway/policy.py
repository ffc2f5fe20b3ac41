"""Who may do what. Pure: a caller, a run and a request go in; None means yes, a `Refusal` says no and why.

A token proves a pod; the run's status names, by UID, the pods that act for it. Whoever is not one of these two pods has
no business here, whatever its name, and a run with a record is closed: nothing about it changes any more.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from fairtrial import names
from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import check_artifact_name, check_digest

AUDIENCES = (names.AUDIENCE_RECORD, names.AUDIENCE_EVALUATE, names.AUDIENCE_PROVIDER)
WRITES_UNDER = {names.AGENT: "agent/", names.EVALUATOR: "evaluation/"}
_RUN_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class Caller:
    """A pod that a token was found to belong to, and the audiences that the token is good for."""

    namespace: str
    service_account: str
    pod_name: str
    pod_uid: str
    audiences: frozenset[str]


@dataclass(frozen=True)
class Run:
    """What the gateway needs to know of a run. None means that the status does not say yet."""

    namespace: str
    name: str
    uid: str
    cohort: str
    agent_pod_uid: str | None
    evaluator_pod_uid: str | None
    public_sha256: str | None
    sealed_sha256: str | None
    ended: bool
    provider: str = ""  # name of the ModelProvider; empty: the run has no model
    provider_uid: str | None = None  # as it was when the run was accepted
    limits: dict[str, Any] = field(default_factory=dict)  # spec.limits
    tool_servers: tuple[str, ...] = ()  # that the task allows

    def pod_uid(self, role: str) -> str | None:
        """The UID of the pod that acts for this run in a role, once the status names it."""
        return self.agent_pod_uid if role == names.AGENT else self.evaluator_pod_uid


@dataclass(frozen=True)
class Refusal:
    """An HTTP status, a stable word, a sentence, and after how many seconds it makes sense to ask again."""

    status: int
    reason: str
    message: str
    retry_after: int | None = None


def claimed(caller: Caller) -> tuple[str, str] | Refusal:
    """The role and the run that a pod's name claims; the run's status decides whether that is so."""
    for role in (names.AGENT, names.EVALUATOR):
        run = caller.pod_name.removesuffix(f"-{role}")
        if run != caller.pod_name and _RUN_NAME.fullmatch(run) and len(run) <= names.RUN_NAME_MAX:
            return role, run
    return _forbidden("NotARunPod", f"Pod {caller.pod_name} is not the agent or evaluator pod of a run.")


def run_from_object(raw: dict[str, Any]) -> Run:
    """The facts in a BenchmarkRun as the API server gives it."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    task = status.get("task") or {}
    return Run(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        cohort=(spec.get("cohortRef") or {}).get("name", ""),
        agent_pod_uid=(status.get("agentPod") or {}).get("uid"),
        evaluator_pod_uid=(status.get("evaluatorPod") or {}).get("uid"),
        public_sha256=task.get("publicSha256"),
        sealed_sha256=task.get("sealedSha256"),
        ended=bool(status.get("record")),
        provider=((spec.get("network") or {}).get("modelProviderRef") or {}).get("name", ""),
        provider_uid=(status.get("provider") or {}).get("uid"),
        limits=dict(spec.get("limits") or {}),
        tool_servers=tuple(task.get("toolServers") or ()),
    )


def may_fetch_bundle(caller: Caller, role: str, run: Run, sha256: str) -> Refusal | None:
    """Both pods may fetch the public archive of their run's own task."""
    audience = names.AUDIENCE_RECORD if role == names.AGENT else names.AUDIENCE_EVALUATE
    return _may_act(caller, role, run, audience) or _is_the_tasks(sha256, run.public_sha256, "public")


def may_fetch_sealed(caller: Caller, role: str, run: Run, sha256: str) -> Refusal | None:
    """Only the evaluator pod may fetch the sealed archive, and only its own task's."""
    if role != names.EVALUATOR:
        return _forbidden("NotForAgents", "The sealed archive is never served to an agent pod.")
    refusal = _may_act(caller, role, run, names.AUDIENCE_EVALUATE)
    return refusal or _is_the_tasks(sha256, run.sealed_sha256, "sealed")


def may_read_artifact(caller: Caller, role: str, run: Run, name: str) -> Refusal | None:
    """The evaluator pod may read what was stored for its own run."""
    if role != names.EVALUATOR:
        return _forbidden("NotForAgents", "Artifacts are served to the evaluator pod alone.")
    return _may_act(caller, role, run, names.AUDIENCE_EVALUATE) or _is_a_good_name(name)


def may_write_artifact(caller: Caller, role: str, run: Run, name: str) -> Refusal | None:
    """Each pod's recorder may create artifacts of its own run, in its own folder."""
    refusal = _may_act(caller, role, run, names.AUDIENCE_RECORD) or _is_a_good_name(name)
    if refusal:
        return refusal
    folder = WRITES_UNDER[role]
    if not name.startswith(folder):
        return _forbidden("WrongFolder", f"The {role} pod writes under {folder!r}; {name!r} is not there.")
    return None


def may_begin_step(caller: Caller, role: str, run: Run, _number: str) -> Refusal | None:
    """The agent pod's recorder may tell that a step begins; the agent's container has no token of its audience."""
    if role != names.AGENT:
        return _forbidden("AgentsOnly", "Only an agent pod has steps.")
    return _may_act(caller, role, run, names.AUDIENCE_RECORD)


def may_call_model(caller: Caller, role: str, run: Run, _path: str) -> Refusal | None:
    """The agent container may call the model of its run; it is the only one with a token for that."""
    if role != names.AGENT:
        return _forbidden("AgentsOnly", "Only an agent pod calls models.")
    if refusal := _may_act(caller, role, run, names.AUDIENCE_PROVIDER):
        return refusal
    return None if run.provider else _forbidden("NoModel", f"Run {run.name} names no ModelProvider.")


def may_call_tool(caller: Caller, role: str, run: Run, name: str) -> Refusal | None:
    """The agent may call the tool servers that its task allows."""
    if role != names.AGENT:
        return _forbidden("AgentsOnly", "Only an agent pod calls tools.")
    if refusal := _may_act(caller, role, run, names.AUDIENCE_PROVIDER):
        return refusal
    if name not in run.tool_servers:
        allowed = ", ".join(run.tool_servers) or "none"
        return _forbidden("ToolNotAllowed", f"The run's task allows these tool servers: {allowed}.")
    return None


def acts_for(caller: Caller, role: str, run: Run) -> bool:
    """Whether a caller is proven to be the run's pod of this role, whatever its token is good for."""
    return caller.service_account == names.SERVICE_ACCOUNT and run.pod_uid(role) == caller.pod_uid


def _may_act(caller: Caller, role: str, run: Run, audience: str) -> Refusal | None:
    if audience not in caller.audiences:
        have = ", ".join(sorted(caller.audiences)) or "none"
        return _forbidden("WrongAudience", f"This needs a token with audience {audience}; this one has {have}.")
    if caller.service_account != names.SERVICE_ACCOUNT:
        return _forbidden("WrongServiceAccount", f"Service account {caller.service_account} runs no runs.")
    if run.ended:
        return _forbidden("RunEnded", f"Run {run.name} has its record; nothing more is read or written for it.")
    expected = run.pod_uid(role)
    if expected is None:
        return Refusal(425, "NotYetKnown", f"The status of run {run.name} names no {role} pod yet.", retry_after=1)
    if expected != caller.pod_uid:
        return _forbidden(
            "WrongPod", f"The {role} pod of run {run.name} has UID {expected}; this token is of {caller.pod_uid}."
        )
    return None


def _is_the_tasks(sha256: str, expected: str | None, part: str) -> Refusal | None:
    try:
        check_digest(sha256)
    except InvalidInput as error:
        return Refusal(400, "InvalidDigest", str(error))
    if expected is None:
        return Refusal(425, "NotYetKnown", f"The run's status names no {part} archive yet.", retry_after=1)
    if sha256 != expected:
        return _forbidden("WrongArchive", f"The {part} archive of this run's task is {expected}.")
    return None


def _is_a_good_name(name: str) -> Refusal | None:
    try:
        check_artifact_name(name)
    except InvalidInput as error:
        return Refusal(400, "InvalidName", str(error))
    return None


def _forbidden(reason: str, message: str) -> Refusal:
    return Refusal(403, reason, message)
