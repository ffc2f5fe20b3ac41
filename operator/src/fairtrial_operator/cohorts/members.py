"""The runs of each cohort, as far as the cohort cares: small, and kept when a run is only a stub. No I/O.

A run belongs to the cohort whose UID its controller reference has, whatever else it says of itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple

from fairtrial import names
from fairtrial.api.run import Replaced
from fairtrial.cohort.accounting import RunState
from fairtrial_operator.cache import Key, Object, key_of


class Owner(NamedTuple):
    """The cohort that controls a run."""

    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a cohort."""

    state: RunState
    record_sha256: str = ""
    reason: str = ""  # of a recorded run: the finer reason
    invalidity: str = ""
    held: str = ""  # of another: the reason of the condition that says why it does not get on
    begun: bool = False  # whether it has, or had, a pod
    stopping: bool = False  # whether its end was asked for
    finished: bool = False  # recorded, and without our finalizer


def owner_of(raw: Object) -> Owner | None:
    """The cohort that controls this run, if one does."""
    metadata = raw["metadata"]
    for ref in metadata.get("ownerReferences") or ():
        if ref.get("controller") and ref["kind"] == "BenchmarkCohort" and ref["apiVersion"] == names.API_VERSION:
            return Owner(Key(metadata.get("namespace") or "", ref["name"]), ref["uid"])
    return None


def member_of(raw: Object) -> Member:
    """A run as its cohort sees it, from the object as the API server shows it."""
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    ref, record, agent = spec.get("cohortRef") or {}, status.get("record"), status.get("agentPod")
    replaces = spec.get("replaces")
    state = RunState(
        name=metadata["name"],
        uid=metadata["uid"],
        candidate=intern(spec["candidate"]["name"]),
        repetition=spec.get("repetition", 1),
        block=intern(spec.get("block") or ""),
        outcome=intern(status["outcome"]) if record else None,  # type: ignore[arg-type]  # the API server checks it
        started=bool(agent and agent.get("node")),
        replaces=Replaced(**replaces) if replaces else None,
        index=ref.get("index"),
        preregistration_sha256=intern(ref.get("preregistrationSha256") or "") or None,
    )
    return Member(
        state=state,
        record_sha256=record["sha256"] if record else "",
        reason=intern(status.get("reason") or "") if record else "",
        invalidity=intern(status.get("invalidity") or "") if record else "",
        held="" if record else intern(_held(status)),
        begun=agent is not None,
        stopping=bool(spec.get("cancel") or metadata.get("deletionTimestamp")),
        finished=bool(record) and names.RUN_FINALIZER not in (metadata.get("finalizers") or ()),
    )


def _held(status: Object) -> str:
    """Why a run does not get on, as its conditions tell; empty while it does."""
    told = {one["type"]: one for one in status.get("conditions") or ()}
    accepted = told.get("Accepted")
    if accepted is not None and accepted["status"] == "False":
        reason: str = accepted["reason"]
        return reason
    if status.get("phase") != "Waiting":
        return ""
    finished = told.get("AgentFinished")
    over = finished is not None and finished["status"] != "Unknown"
    waiting = told.get("Evaluated" if over else "AgentStarted")
    return waiting["reason"] if waiting else ""


class Members:
    """All cohorts' runs, by the UID of the cohort and the name of the run."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, Member]] = {}
        self._owners: dict[Key, Owner] = {}
        self._lost: dict[str, dict[str, str]] = {}

    def of(self, uid: str) -> Mapping[str, Member]:
        """The runs of one cohort."""
        return self._of.get(uid, {})

    def lost(self, uid: str) -> Mapping[str, str]:
        """UIDs, by name, of the cohort's runs that had a pod and are gone without a record."""
        return self._lost.get(uid, {})

    def put(self, raw: Object) -> Owner | None:
        """Take in a run that is news; the cohort, if there is something in it for that."""
        owner = owner_of(raw)
        if owner is None:
            return None
        member, runs = member_of(raw), self._of.setdefault(owner.uid, {})
        old = runs.get(member.state.name)
        runs[member.state.name] = member
        self._owners[key_of(raw)] = owner
        return owner if old != member else None

    def drop(self, key: Key) -> Owner | None:
        """Forget a run that is gone; the cohort that it belonged to."""
        owner = self._owners.pop(key, None)
        if owner is None:
            return None
        runs = self._of.get(owner.uid, {})
        member = runs.pop(key.name, None)
        if member is not None and member.begun and member.state.outcome is None:
            self._lost.setdefault(owner.uid, {})[key.name] = member.state.uid
        if not runs:
            self._of.pop(owner.uid, None)
        return owner

    def forget(self, uid: str) -> None:
        """Forget what is known of lost runs of a cohort that needs to know no more."""
        self._lost.pop(uid, None)
