"""Run one invocation: a fresh copy, a scrubbed environment, a deadline, and nothing of it left running afterwards."""

import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fairtrial.process import Command, Ended, run
from fairtrial_evaluator.protocol import KEEP_BYTES, PART_MAX, Captured, Invocation, Outcome, RawResult, TreeName
from fairtrial_evaluator.results import MAX_BYTES
from fairtrial_evaluator.trees import HeldTree, delete, place

GRACE_SECONDS = 2


class Capture:
    """Keeps the head and the tail of a stream, and counts and hashes all of it."""

    def __init__(self, keep: int = KEEP_BYTES) -> None:
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._hash = hashlib.sha256()
        self._seen = 0

    def take(self, data: bytes) -> None:
        """The next bytes."""
        self._seen += len(data)
        self._hash.update(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room else data
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def result(self) -> tuple[Captured, bytes]:
        """The facts and what was kept; where bytes are left out, a line says so."""
        tail = bytes(self._tail[-self._half :])
        lost = self._seen - len(self._head) - len(tail)
        mark = f"\n[{lost} bytes left out]\n".encode() if lost else b""
        kept = bytes(self._head) + mark + tail
        return Captured(self._seen, self._hash.hexdigest(), len(kept) - len(mark), bool(lost)), kept


def execute(
    trees: Mapping[TreeName, HeldTree], invocation: Invocation, files: Mapping[str, bytes], work: Path, *, alone: bool
) -> Outcome:
    """Run an invocation in its own folder below `work`; the folder is gone afterwards."""
    root = Path(tempfile.mkdtemp(dir=work))
    try:
        return _execute(trees[invocation.tree], invocation, files, root, alone=alone)
    except OSError as error:
        return Outcome(RawResult(invocation.label, invocation.argv, "not_started", error=f"evaluator: {error}"))
    finally:
        delete(root)


def _execute(tree: HeldTree, invocation: Invocation, files: Mapping[str, bytes], root: Path, *, alone: bool) -> Outcome:
    project, results = root / "project", root / secrets.token_hex(16) / "results"
    for folder in (project, root / "home", root / "tmp", results.parent):
        folder.mkdir(mode=0o700)
    tree.lay_out(project)
    for path in invocation.remove:
        delete(project / path)
    for path, data in files.items():
        place(project, path, data)
    argv = [item.replace("{project}", str(project)).replace("{results}", str(results)) for item in invocation.argv]
    streams = {"stdout": Capture(), "stderr": Capture()}
    command = Command(
        argv=argv,
        cwd=project / invocation.cwd,
        env=environment(root, {k: v.replace("{project}", str(project)) for k, v in invocation.env.items()}),
        deadline_seconds=invocation.timeout_seconds,
        grace_seconds=GRACE_SECONDS,
        stdin=invocation.stdin.encode(),
    )
    ended = run(command, output=lambda stream, data: streams[stream].take(data), alone=alone)
    wants = any("{results}" in item for item in invocation.argv)
    state, data = read_results(results) if wants else ("unused", b"")
    (out, out_data), (err, err_data) = streams["stdout"].result(), streams["stderr"].result()
    raw = _raw(invocation, argv, ended, str(project), state, out, err)
    return Outcome(raw, out_data, err_data, data)


def environment(root: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a check: nothing of the evaluator's own but the image's PATH."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        **extra,
    }


def read_results(path: Path) -> tuple[str, bytes]:
    """Read a results file once, when nothing runs any more that could change it. No link, no fifo, bounded."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return "missing", b""
    except OSError:
        return "not_a_file", b""
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
            return "not_a_file", b""
        data = file.read(min(MAX_BYTES, PART_MAX) + 1)
        return ("too_big", b"") if len(data) > MAX_BYTES else ("read", data)


def _raw(
    invocation: Invocation, argv: list[str], ended: Ended, project: str, state: str, out: Captured, err: Captured
) -> RawResult:
    return RawResult(
        label=invocation.label,
        argv=argv,
        end=ended.end,
        exit_code=ended.exit_code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        duration_ms=ended.duration_ms,
        duration_ns=ended.duration_ns,
        project=project,
        error=ended.error or "",
        results=state,  # type: ignore[arg-type]
        leftovers_killed=ended.left_count,
        stdout=out,
        stderr=err,
    )
