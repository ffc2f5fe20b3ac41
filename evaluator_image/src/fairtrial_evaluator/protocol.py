"""What the judge asks of the process that runs checks, and what comes back: raw facts, no judgement.

The judge (`record` in a pod) holds the sealed part; the runner of checks gets, for each process, only the files that
this process needs. So submitted code never stands beside the reference, the mutants or the other checks.

A message is a JSON object, then raw bytes of the lengths that it states, in the order of its `parts`.
"""

import io
from dataclasses import dataclass, field
from typing import Any, Literal

from fairtrial import documents
from fairtrial.archive import Limits, pack, read_members
from fairtrial.channel import Channel, Raw
from fairtrial.errors import ChannelBroken

TreeName = Literal["submission", "base"]
PART_MAX = 64 * 1024 * 1024
KEEP_BYTES = 1024 * 1024  # of each of stdout and stderr: half from the head, half from the tail


@dataclass(frozen=True)
class Invocation:
    """One process to run in a fresh copy of a tree. `{project}` and `{results}` are still to be filled in."""

    label: str
    tree: TreeName
    argv: list[str]
    timeout_seconds: int
    cwd: str = "."
    env: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    remove: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Captured:
    """One stream of a process: what was seen and how much of it was kept."""

    bytes_seen: int = 0
    sha256_seen: str = ""
    bytes_kept: int = 0
    truncated: bool = False


@dataclass(frozen=True)
class RawResult:
    """How a process ended, as its parent saw it."""

    label: str
    argv: list[str]
    end: Literal["exited", "signaled", "not_started"]
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    duration_ms: int = 0
    duration_ns: int = 0
    project: str = ""  # where the fresh copy was
    error: str = ""  # why it did not start
    results: Literal["unused", "read", "missing", "not_a_file", "too_big"] = "unused"
    leftovers_killed: int = 0
    stdout: Captured = field(default_factory=Captured)
    stderr: Captured = field(default_factory=Captured)


@dataclass(frozen=True)
class Outcome:
    """A raw result with its bytes."""

    raw: RawResult
    stdout: bytes = b""
    stderr: bytes = b""
    results: bytes = b""


@dataclass(frozen=True)
class Hello:
    """The first message of whoever runs checks: what is so before any submitted code ran."""

    protected_touched: list[str]
    skipped: list[str]  # what the copies leave out, "path: why"
    environment: dict[str, Any]


class Remote:
    """The judge's end of the channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def hello(self, timeout: float) -> Hello:
        """What the other side says of itself first."""
        message, _ = receive(self._channel, timeout)
        hello: Hello = _document(Hello, message, "hello")
        return hello

    def run(self, invocation: Invocation, files: dict[str, bytes]) -> Outcome:
        """Run one process there; a silent other side is given up soon after the process's own deadline."""
        request = {"type": "run", "invocation": documents.to_json(invocation)}
        send(self._channel, request, [("files", archive_of(files))])
        message, parts = receive(self._channel, invocation.timeout_seconds + 120)
        raw = _document(RawResult, message.get("raw"), "raw")
        return Outcome(raw, *(parts.get(name, b"") for name in ("stdout", "stderr", "results")))

    def select(self, tree: TreeName, globs: list[str], *, contents: bool = False) -> dict[str, tuple[str, bytes]]:
        """Files of an untouched copy by glob: path → (digest, content or nothing)."""
        send(self._channel, {"type": "select", "tree": tree, "globs": globs, "contents": contents}, [])
        message, parts = receive(self._channel, 120)
        digests = _document(dict[str, str], message.get("digests"), "digests")
        found = files_of(parts.get("contents", b""))
        return {path: (digest, found.get(path, b"")) for path, digest in digests.items()}

    def end(self) -> None:
        """Nothing more will be asked."""
        send(self._channel, {"type": "end"}, [])


def send(channel: Channel, message: dict[str, Any], parts: list[tuple[str, bytes]]) -> None:
    """Send a message and its parts."""
    channel.send({**message, "parts": [[name, len(data)] for name, data in parts]})
    for name, data in parts:
        channel.send_raw(name, data)


def receive(channel: Channel, timeout: float | None) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Receive a message and all its parts."""
    message = channel.receive(timeout)
    if not isinstance(message, dict):
        raise ChannelBroken("The other side of the channel closed, or sent bytes where a message was due.")
    parts = {}
    for name, size in _document(list[list[Any]], message.pop("parts", []), "parts"):
        if not isinstance(name, str) or not isinstance(size, int) or not 0 <= size <= PART_MAX:
            raise ChannelBroken("The other side of the channel announced a part that is not one.")
        parts[name] = _part(channel, name, size, timeout)
    return message, parts


def archive_of(files: dict[str, bytes]) -> bytes:
    """Files as one archive."""
    sink = io.BytesIO()
    pack(dict(files), sink)
    return sink.getvalue()


def files_of(archive: bytes) -> dict[str, bytes]:
    """The files of an archive that `archive_of` made."""
    if not archive:
        return {}
    members = read_members([archive], Limits())
    return {member.path: b"".join(content) for member, content in members if member.kind == "file"}


def _part(channel: Channel, name: str, size: int, timeout: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = channel.receive(timeout)
        if not isinstance(piece, Raw) or piece.stream != name:
            raise ChannelBroken(f"The other side of the channel did not send all of {name}.")
        data += piece.data
    return bytes(data)


def _document(kind: Any, raw: Any, name: str) -> Any:
    return documents.from_json(kind, raw, name)
