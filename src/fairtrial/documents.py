"""The JSON documents that parts hand to each other, and the one strict way to read and write them.

Standard library only: this module is imported inside untrusted pods, in any image. A document that does not fit is
refused with the path of the field. Keys are camelCase in JSON, snake_case here. Digests are 64 lower-case hex digits.
"""

import dataclasses
import functools
import json
import re
import types
import typing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

from fairtrial.errors import InvalidInput

T = TypeVar("T")
_PLAIN = frozenset({str, int, float, bool, types.NoneType})
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


# --- what launch and record are told ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class RunIdentity:
    """Which run, by name and by UID: a run of the same name made later is another run."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True)
class Step:
    """One unit of interaction. `argv` is final: no template is left in it."""

    name: str
    argv: list[str]
    wall_seconds: int
    stdin: str = ""  # text given on standard input; empty means /dev/null


@dataclass(frozen=True)
class Preflight:
    """A command that must end as the task says before the agent starts."""

    name: str
    argv: list[str]
    expect_exit: list[int]
    timeout_seconds: int = 120


@dataclass(frozen=True)
class Probe:
    """A destination that must be refused, every time, before the agent starts."""

    name: str
    kind: Literal["tcp", "udp-dns"]
    host: str
    port: int


@dataclass(frozen=True)
class AgentPlan:
    """All that an agent pod knows. Holds nothing sealed: it lies in the pod where the agent can read it."""

    run: RunIdentity
    bundle_sha256: str  # the task's public archive
    steps: list[Step]
    candidate_files: dict[str, str] = field(default_factory=dict)  # file name → text, laid out read-only
    env: dict[str, str] = field(default_factory=dict)
    home_files: dict[str, str] = field(default_factory=dict)  # relative path → text, written into the home folder
    collect: list[str] = field(default_factory=list)  # globs below the home folder, kept as agent/collected.tar
    adapter: dict[str, Any] | None = None  # how the output becomes events: fairtrial.events.rules.Adapter
    preflight: list[Preflight] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    probe_attempts: int = 3
    generated: list[str] = field(default_factory=list)  # globs of generated files: reported apart in the diff
    grace_seconds: int = 10  # from SIGTERM to SIGKILL
    stream_keep_bytes: int = 33554432  # of each stream: half from its head, half from its tail
    snapshot_max_bytes: int = 1073741824
    snapshot_seconds: int = 300  # how long launch waits for the recorder's snapshot before it exits
    upload_seconds: int = 600  # how long the recorder tries to store one artifact
    fetch_seconds: int = 240  # how long the recorder tries to get the public archive
    setup_seconds: int = 300  # how long it has to lay everything out
    limits: dict[str, str] = field(default_factory=dict)  # told to the agent: cpu, memory, ephemeral-storage
    tell_steps: bool = False  # no step begins before the gateway knows of it
    schema_version: int = 1


@dataclass(frozen=True)
class EvaluationPlan:
    """All that an evaluator pod knows."""

    run: RunIdentity
    bundle_sha256: str
    sealed_sha256: str
    snapshot_artifact: str
    snapshot_sha256: str
    wall_seconds: int = 1800
    upload_seconds: int = 600  # how long the recorder tries to store one artifact
    fetch_seconds: int = 240  # how long fetch tries to get one object
    schema_version: int = 1


# --- what the recorder tells the gateway while the agent runs ---------------------------------------------------------
@dataclass(frozen=True)
class StepNotice:
    """A step is about to begin. `earlier_ms` is what the steps before it took together."""

    name: str
    wall_seconds: int
    earlier_ms: int = 0
    schema_version: int = 1


@dataclass(frozen=True)
class StepBegun:
    """`agent/steps/NN.json`: what the gateway wrote down about a step when it was told; its calls count from then."""

    run: RunIdentity
    number: int  # from 1, without a gap
    name: str
    wall_seconds: int
    earlier_ms: int
    begun_at: str  # by the gateway's clock
    schema_version: int = 1


# --- what the recorder reports about an agent -------------------------------------------------------------------------
@dataclass(frozen=True)
class Artifact:
    """One stored object of a run. `name` is relative to the run's artifacts."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class ProbeResult:
    """What one denied destination answered, attempt by attempt: `refused`, `timeout`, `unreachable`, or `connected`."""

    name: str
    kind: str
    host: str
    port: int
    answers: list[str]


@dataclass(frozen=True)
class CommandResult:
    """How a recorded command ended. `exit_code` is None when a signal ended it."""

    name: str
    argv: list[str]
    exit_code: int | None
    signal: int | None
    timed_out: bool
    duration_ms: int
    as_expected: bool


@dataclass(frozen=True)
class StepResult:
    """How one step ended, told by launch, which started it and knows which signals it sent itself."""

    name: str
    argv: list[str]
    started_at: str
    duration_ms: int
    deadline_seconds: int
    end: Literal["exited", "signaled", "not_started", "lost"]  # lost: launch was gone before it could tell
    exit_code: int | None = None
    signal: int | None = None
    signal_sender: Literal["launch", "agent", "outside", "kernel", "unknown"] | None = None
    timed_out: bool = False
    error: str | None = None  # why it did not start
    stream_offsets: dict[str, int] = field(default_factory=dict)  # bytes of each stream seen before this step began


@dataclass(frozen=True)
class Stream:
    """One stream of bytes: what was seen, what was kept, and where."""

    name: str
    bytes_seen: int
    sha256_seen: str
    bytes_kept: int
    truncated: bool
    segments: list[Artifact]


@dataclass(frozen=True)
class Snapshot:
    """The final workspace as an archive; or why there is none."""

    state: Literal["measured", "missing"]
    artifact: Artifact | None = None
    files: int = 0
    bytes: int = 0
    skipped: list[str] = field(default_factory=list)  # "path: why", such as sockets and devices
    reason: str | None = None


@dataclass(frozen=True)
class Diff:
    """The normalized difference between fixture and snapshot; generated files apart, never dropped."""

    state: Literal["measured", "missing"]
    artifact: Artifact | None = None
    files_added: int = 0
    files_modified: int = 0
    files_deleted: int = 0
    lines_added: int = 0
    lines_deleted: int = 0
    binary_files: int = 0
    generated_files: int = 0
    paths: list[str] = field(default_factory=list)  # changed paths, at most 1,000; the artifact has all
    reason: str | None = None


@dataclass(frozen=True)
class Leftovers:
    """What the agent left behind: processes (swept), files outside the workspace, listening ports."""

    processes: list[str] = field(default_factory=list)  # "pid command", at most 200
    processes_swept: int = 0
    zombies_reaped: int = 0
    files_outside: list[str] = field(default_factory=list)  # at most 1,000
    files_outside_count: int = 0
    listening_ports: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Consumption:
    """What the agent's container used while the steps ran, by its own cgroup; None where the kernel does not tell."""

    cpu_us: int | None = None
    periods: int | None = None  # of the processor quota
    throttled_periods: int | None = None
    throttled_us: int | None = None
    memory_peak_bytes: int | None = None  # since the container was started, page cache included


@dataclass(frozen=True)
class Interaction:
    """What the harness's own output says that the agent did, once the candidate's adapter has read it."""

    state: Literal["measured", "missing", "not_applicable"]
    adapter: str = ""
    events: Artifact | None = None  # agent/events.jsonl
    counts: Artifact | None = None  # agent/interaction.json, with the lists that the summary leaves out
    summary: dict[str, Any] = field(default_factory=dict)  # each metric with state, value, reason
    reason: str | None = None


@dataclass(frozen=True)
class AgentReport:
    """The recorder's account of one agent pod; its last upload. `complete` is False where launch was lost."""

    run: RunIdentity
    pod_uid: str
    complete: bool
    # How the agent's part ended: see fairtrial.classify for what each means.
    ending: Literal[
        "finished",  # every step ran to its own end
        "deadline",  # a step's wall clock ran out
        "stopped_from_outside",  # SIGTERM from outside the pod's processes: cancellation, eviction, deletion
        "isolation_not_enforced",
        "preflight_failed",
        "leak_found",
        "start_failed",  # the candidate's program could not be started
        "launch_lost",  # PID 1 was gone before it had told its end
        "recorder_error",
    ]
    message: str = ""
    isolation: Literal["proven", "failed", "not_reached", "not_applicable"] = "not_reached"
    probes: list[ProbeResult] = field(default_factory=list)
    preflight: list[CommandResult] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    initial_state_sha256: str | None = None
    steps: list[StepResult] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot("missing", reason="not_reached"))
    diff: Diff = field(default_factory=lambda: Diff("missing", reason="not_reached"))
    leftovers: Leftovers | None = None
    consumption: Consumption | None = None
    interaction: Interaction = field(default_factory=lambda: Interaction("not_applicable", reason="no_adapter"))
    artifacts: list[Artifact] = field(default_factory=list)
    timings_ms: dict[str, int] = field(default_factory=dict)  # setup, isolation, preflight, agent, snapshot, upload
    schema_version: int = 1


# --- what the evaluator's recorder reports ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Measurement:
    """What a measurement check took: raw samples in their order, warm-up left out. Times are in nanoseconds."""

    metric: str
    unit: Literal["ns", "bytes"]
    samples: list[int]
    warm_up: int = 0  # processes that ran before, and count for nothing


@dataclass(frozen=True)
class CheckResult:
    """One check's judgement. `error` means that the check could not judge: never a failure of the candidate."""

    name: str
    kind: str
    state: Literal["passed", "failed", "error"]
    category: str  # protocol 0's failure category that a failure of this check stands for
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    duration_ms: int = 0
    tests_passed: int = 0
    tests_failed: list[str] = field(default_factory=list)  # at most 200 names
    tests_missing: list[str] = field(default_factory=list)
    measurement: Measurement | None = None
    evidence: list[Artifact] = field(default_factory=list)


@dataclass(frozen=True)
class EvaluationReport:
    """The evaluator's account of one snapshot; its last upload."""

    run: RunIdentity
    pod_uid: str
    verdict: Literal["passed", "failed", "error"]
    reason: str = ""
    bundle_sha256: str = ""
    sealed_sha256: str = ""
    snapshot_sha256: str = ""
    protected_touched: list[str] = field(default_factory=list)  # restored before the checks ran
    checks: list[CheckResult] = field(default_factory=list)
    negative_control: Literal["passed", "failed", "not_applicable", "not_reached"] = "not_reached"
    launcher: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)
    timings_ms: dict[str, int] = field(default_factory=dict)
    schema_version: int = 1


# --- reading and writing ----------------------------------------------------------------------------------------------
def dump(document: Any) -> bytes:
    """Canonical bytes of a document: sorted camelCase keys, no spaces, UTF-8, no NaN. Same facts, same bytes."""
    text = _CANONICAL.encode(to_json(document))
    return text.encode("utf-8", "replace")  # a lone surrogate, from a hostile file name, becomes "?"


def to_json(value: Any) -> Any:
    """Dataclasses become objects with camelCase keys; everything else stays as it is."""
    kind: Any = type(value)
    if kind in _PLAIN:  # nearly everything in a document, so looked at first
        return value
    if (names := _names(kind)) is not None:
        made = {key: getattr(value, name) for key, name in names}
        return {key: each if type(each) in _PLAIN else to_json(each) for key, each in made.items()}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def load(kind: type[T], data: bytes | str, *, name: str = "document") -> T:
    """Read a document strictly: unknown keys, duplicate keys, wrong types and other versions are refused."""
    try:
        raw = json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name}: not the JSON it should be: {error}.") from error
    return typing.cast("T", from_json(kind, raw, name))


def from_json(kind: Any, raw: Any, path: str) -> Any:
    """Turn parsed JSON into `kind`, naming the `path` of whatever does not fit."""
    if kind is Any:
        return raw
    origin, arguments = _parts(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast("type", kind), raw, path)
    if origin is Literal:
        return raw if raw in arguments else _refuse(path, f"{raw!r} is not one of {list(arguments)}")
    if origin in (typing.Union, types.UnionType):
        if raw is None:
            return None if types.NoneType in arguments else _refuse(path, "may not be null")
        return from_json(next(a for a in arguments if a is not types.NoneType), raw, path)
    if origin is list:
        items = raw if isinstance(raw, list) else _refuse(path, "is not a list")
        each = arguments[0]
        return [
            item if type(item) is each else from_json(each, item, f"{path}[{index}]")
            for index, item in enumerate(items)
        ]
    if origin is dict:
        pairs = raw if isinstance(raw, dict) else _refuse(path, "is not an object")
        return {key: from_json(arguments[1], item, f"{path}.{key}") for key, item in pairs.items()}
    if kind is int and isinstance(raw, bool):
        return _refuse(path, "is a boolean, not a number")
    return raw if isinstance(raw, kind) else _refuse(path, f"is not {kind.__name__}")


@functools.cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(kind), typing.get_args(kind)


def written(time: datetime) -> str:
    """A time as documents have it: UTC, in milliseconds."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@functools.cache
def camel(name: str) -> str:
    """`snake_case` as `camelCase`."""
    return re.sub(r"_([a-z0-9])", lambda found: found.group(1).upper(), name)


def _dataclass(kind: type, raw: Any, path: str) -> Any:
    if not isinstance(raw, dict):
        _refuse(path, "is not an object")
    known = _read_as(kind)
    unknown = raw.keys() - known.keys()
    if unknown:
        _refuse(path, f"has unknown field {min(unknown)!r}")
    missing = _required(kind) - raw.keys()
    if missing:
        _refuse(path, f"lacks field {min(missing)!r}")
    given = {}
    for key, value in raw.items():
        name, wanted = known[key]
        # Of most fields the type is plain and is right: then there is nothing more to look at, and no path to name.
        given[name] = value if type(value) is wanted else from_json(wanted, value, f"{path}.{key}")
    return kind(**given)


@functools.cache
def _read_as(kind: type) -> dict[str, tuple[str, Any]]:
    """Attribute and type by key."""
    hints = typing.get_type_hints(kind)
    return {key: (f.name, hints[f.name]) for key, f in _fields(kind).items()}


@functools.cache
def _fields(kind: type) -> "dict[str, dataclasses.Field[Any]]":
    return {camel(f.name): f for f in dataclasses.fields(kind)}


@functools.cache
def _names(kind: type) -> tuple[tuple[str, str], ...] | None:
    """Keys and attributes of a dataclass; None for another type."""
    return tuple((key, f.name) for key, f in _fields(kind).items()) if dataclasses.is_dataclass(kind) else None


@functools.cache
def _required(kind: type) -> frozenset[str]:
    return frozenset(key for key, f in _fields(kind).items() if _has_no_default(f))


def _has_no_default(f: "dataclasses.Field[Any]") -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def _refuse(path: str, why: str) -> Any:
    raise InvalidInput(f"{path} {why}.")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has the same key twice")
    return result


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")
