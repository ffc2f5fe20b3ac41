"""Conditions: what is true about an object, in the form that `kubectl wait` and other tools understand.

Pure: the time is an argument. A condition's transition time moves when its status does, and never otherwise.
"""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.api.base import Observation, Paragraph, Timestamp

ConditionStatus = Literal["True", "False", "Unknown"]

# --- types of a run's conditions, in the order of a run's life --------------------------------------------------------
ACCEPTED = "Accepted"  # every reference is resolved and every digest agrees
AGENT_STARTED = "AgentStarted"  # the agent container runs
ISOLATION_PROVEN = "IsolationProven"  # every probe of a denied destination was refused
AGENT_FINISHED = "AgentFinished"  # the agent pod ended, whichever way, and what it ended with is known
EVALUATED = "Evaluated"  # the evaluator has judged, or it is known that it can't
RECORDED = "Recorded"  # the record lies in the store: the run is over
RUN_CONDITIONS = (ACCEPTED, AGENT_STARTED, ISOLATION_PROVEN, AGENT_FINISHED, EVALUATED, RECORDED)

# --- types of a cohort's conditions; ACCEPTED too ---------------------------------------------------------------------
SEALED = "Sealed"  # the preregistration lies in the store: the cohort can't change any more
CAPACITY_AVAILABLE = "CapacityAvailable"  # no run waits for room, quota or its queue
COMPARABLE = "Comparable"  # what must be equal within a block is
COMPLETE = "Complete"  # everything scheduled is accounted for
ANALYSED = "Analysed"  # the analysis has given a verdict
COHORT_CONDITIONS = (ACCEPTED, SEALED, CAPACITY_AVAILABLE, COMPARABLE, COMPLETE, ANALYSED)


class Reason:
    """The reasons that conditions give: one CamelCase word each, stable, so that scripts may match them."""

    # Accepted
    RESOLVED = "Resolved"
    TASK_NOT_FOUND = "TaskNotFound"
    RESOURCE_CLASS_NOT_FOUND = "ResourceClassNotFound"
    MODEL_PROVIDER_NOT_FOUND = "ModelProviderNotFound"
    CANDIDATE_UNUSABLE = "CandidateUnusable"
    COHORT_NOT_FOUND = "CohortNotFound"
    DIGEST_MISMATCH = "DigestMismatch"
    NAMESPACE_NOT_ENABLED = "NamespaceNotEnabled"
    POD_SECURITY_NOT_ENFORCED = "PodSecurityNotEnforced"
    NOT_SUPPORTED = "NotSupported"
    CANARY_MISSING = "CanaryMissing"
    SUSPENDED = "Suspended"
    # AgentStarted
    WAITING_FOR_CAPACITY = "WaitingForCapacity"
    WAITING_FOR_QUEUE = "WaitingForQueue"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_REFUSED = "PodRefused"
    PULLING = "Pulling"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CONTAINER_NOT_CREATED = "ContainerNotCreated"
    SETTING_UP = "SettingUp"
    SETUP_FAILED = "SetupFailed"
    STARTED = "Started"
    NEVER_STARTED = "NeverStarted"
    # IsolationProven
    PROVEN = "Proven"
    NOT_ENFORCED = "NotEnforced"
    NOT_REACHED = "NotReached"
    # AgentFinished
    RUNNING = "Running"
    FINISHED = "Finished"
    DEADLINE = "Deadline"
    FAILED = "Failed"
    POD_LOST = "PodLost"
    # Evaluated
    EVALUATING = "Evaluating"
    JUDGED = "Judged"
    EVALUATOR_FAILED = "EvaluatorFailed"
    NOT_EVALUATED = "NotEvaluated"
    # Recorded
    RECORDING = "Recording"
    STORED = "Stored"
    STORE_UNAVAILABLE = "StoreUnavailable"
    RECORD_CONFLICT = "RecordConflict"
    SIGNING_FAILED = "SigningFailed"
    # a cohort's
    COHORT_NOT_SEALED = "CohortNotSealed"
    NOT_SCHEDULED = "NotScheduled"
    CHANGED_SINCE_SEAL = "ChangedSinceSeal"
    NOT_ACCEPTABLE = "NotAcceptable"
    NOT_ASKED = "NotAsked"
    SEAL_CONFLICT = "SealConflict"
    AVAILABLE = "Available"
    INVALID_IN_A_ROW = "InvalidInARow"
    RUN_NAME_TAKEN = "RunNameTaken"
    RUN_REFUSED = "RunRefused"
    LEDGER_BROKEN = "LedgerBroken"
    DOES_NOT_ADD_UP = "DoesNotAddUp"
    BLOCKS_EQUAL = "BlocksEqual"
    BLOCKS_DIFFER = "BlocksDiffer"
    ALL_ACCOUNTED_FOR = "AllAccountedFor"
    # Analysed; True has the verdict, as one word
    ANALYSING = "Analysing"
    RETRYING = "Retrying"
    ANALYSIS_FAILED = "AnalysisFailed"
    ANALYSIS_REFUSED = "AnalysisRefused"
    ANALYSIS_NOT_CONFIGURED = "AnalysisNotConfigured"
    ANALYSIS_IMAGE_NOT_ALLOWED = "AnalysisImageNotAllowed"
    # any
    PENDING = "Pending"
    CANCELLED = "Cancelled"


class Condition(Observation):
    """One thing that is true, false or not yet known about the object."""

    type: Annotated[str, Field(min_length=1, max_length=63)]
    """What is said, such as Accepted."""
    status: ConditionStatus
    """Whether it is so; Unknown while it is not decided."""
    reason: Annotated[str, Field(min_length=1, max_length=63, pattern="^[A-Z][A-Za-z0-9]*$")]
    """Why, as one stable CamelCase word."""
    message: Paragraph = ""
    """Why, for people, with the next move if there is one."""
    observed_generation: Annotated[int, Field(ge=0, le=2**53)]
    """The generation of the spec that this was said about."""
    last_transition_time: Timestamp
    """When the status last changed."""


# As an object's status holds them: one of each type.
Conditions = Annotated[
    tuple[Condition, ...],
    Field(max_length=16, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
]


def find_condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of this type, if it was ever set."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Whether the condition of this type is set and true."""
    found = find_condition(conditions, kind)
    return found is not None and found.status == "True"


def condition(
    kind: str, status: ConditionStatus, reason: str, message: str = "", *, generation: int, now: str
) -> Condition:
    """A condition as it would be if it had just become so; `set_condition` keeps an older time where one applies."""
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message[:8192],
        observed_generation=generation,
        last_transition_time=now,
    )


def set_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with `new` among them. Gives the very same tuple back where nothing changes."""
    old = find_condition(conditions, new.type)
    if old is None:
        return (*conditions, new)
    if old.status == new.status:
        new = new.model_copy(update={"last_transition_time": old.last_transition_time})
    if new == old:
        return conditions
    return tuple(new if one.type == new.type else one for one in conditions)
