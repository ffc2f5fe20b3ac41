"""What is observed about a run, and what may be done about it: the words between `observe`, `decide` and `apply`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fairtrial.api import BenchmarkRunStatus
from fairtrial.attest.statement import Statement
from fairtrial.documents import AgentReport, Artifact, EvaluationReport
from fairtrial.secrets.stored import ArtifactScan
from fairtrial.usage.calls import ModelCalls
from fairtrial_operator.accept import References
from fairtrial_operator.build import PodSettings

Object = dict[str, Any]
Role = Literal["agent", "evaluator"]


@dataclass(frozen=True)
class Report:
    """A report in the store: not looked for, absent, there, unreadable, out of reach, or not complete yet."""

    state: Literal["unread", "absent", "present", "malformed", "unavailable", "incomplete"] = "unread"
    agent: AgentReport | None = None
    evaluation: EvaluationReport | None = None
    calls: ModelCalls | None = None
    scan: ArtifactScan | None = None
    artifact: Artifact | None = None  # the report itself, as stored
    message: str = ""


@dataclass(frozen=True)
class Stored:
    """How the attempt to store the record ended. `signed` says by which key, or why by none."""

    uri: str = ""
    sha256: str = ""
    problem: Literal["", "unavailable", "conflict", "signing"] = ""
    message: str = ""
    signed: str = ""


@dataclass(frozen=True)
class Refused:
    """Why the API server did not create a pod. `quota` passes by itself; `taken` is another owner's pod."""

    why: Literal["quota", "taken", "forbidden", "invalid"]
    message: str


@dataclass(frozen=True)
class Seen:
    """Everything that a decision looks at beside the run itself and the time."""

    references: References
    settings: PodSettings
    agent: Object | None = None  # the run's own pods, by owner and by the UID that the status names
    evaluator: Object | None = None
    agent_node_lost: bool = False
    evaluator_node_lost: bool = False
    agent_report: Report = field(default_factory=Report)
    evaluation_report: Report = field(default_factory=Report)
    model_calls: Report = field(default_factory=Report)
    agent_scan: Report = field(default_factory=Report)  # of what the pod stored; absent where nothing was looked for
    evaluation_scan: Report = field(default_factory=Report)
    refused: Mapping[Role, Refused] = field(default_factory=dict)  # by this very reconciliation
    stored: Stored | None = None  # by this very reconciliation
    finalizers: Sequence[str] = ()
    release_after_seconds: int = 900


# --- what may be done: one thing at a time ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Hold:
    """Add the run's finalizer."""


@dataclass(frozen=True)
class Release:
    """Remove the run's finalizer. `recorded` is False where a deleted run is let go without a record."""

    recorded: bool = True


@dataclass(frozen=True)
class CreatePod:
    """Create a pod, or adopt it where it is there already and the run's own."""

    role: Role
    body: Object


@dataclass(frozen=True)
class ReleasePod:
    """Remove our finalizer from a pod whose end is in the status."""

    pod: Object


@dataclass(frozen=True)
class DeletePod:
    """Ask for a pod's deletion; `force` where its node can't answer any more."""

    pod: Object
    force: bool = False


@dataclass(frozen=True)
class WriteStatus:
    """Write the run's whole status."""

    status: BenchmarkRunStatus


@dataclass(frozen=True)
class CollectCalls:
    """Make the list of the run's model calls and store it; `final` where calls without an end are not waited for."""

    final: bool


@dataclass(frozen=True)
class StoreRecord:
    """Put the run's record, once and for ever, after the signed statement about it."""

    data: bytes
    statement: Statement


Action = Hold | Release | CreatePod | ReleasePod | DeletePod | WriteStatus | CollectCalls | StoreRecord


@dataclass(frozen=True)
class Event:
    """A Kubernetes event about the run, at most one per reason."""

    reason: str
    message: str


@dataclass(frozen=True)
class Decision:
    """The next thing to do, or when to look again. `retry` asks for a growing pause instead of a fixed one."""

    action: Action | None = None
    again_after: float | None = None
    retry: bool = False
    event: Event | None = None
