"""The same evaluation on somebody's own machine: the same judge, the same runner of checks, in two processes.

Not isolated: submitted code runs as the user who starts this, with their files and network. Pods are for strangers.
"""

import contextlib
import hashlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairtrial import documents
from fairtrial.archive import chunks_of, extract, inventory, snapshot, tree_digest
from fairtrial.channel import Channel, Listener
from fairtrial.documents import Artifact, EvaluationReport, RunIdentity
from fairtrial.errors import ChannelBroken, Conflict
from fairtrial.process import become_subreaper
from fairtrial.process.tree import children, sweep
from fairtrial.task.packed import Evaluation, PublicTask
from fairtrial_evaluator.checks import LAYOUT_FILE, Layout
from fairtrial_evaluator.layout import restore_protected
from fairtrial_evaluator.protocol import Remote
from fairtrial_evaluator.report import report_of
from fairtrial_evaluator.session import Evidence, Session
from fairtrial_evaluator.trees import MAX_BYTES

ACCEPT_SECONDS = 60


class FolderEvidence:
    """Evidence as files of a folder, each written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, name: str, data: bytes, media_type: str) -> Artifact:  # noqa: ARG002 — a folder keeps no types
        """Keep one artifact."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(data).hexdigest()
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError as error:
            raise Conflict(str(path), digest, hashlib.sha256(path.read_bytes()).hexdigest()) from error
        return Artifact(name, len(data), digest)


class NoEvidence:
    """Evidence that nobody will look at, as in a calibration."""

    def put(self, name: str, data: bytes, media_type: str) -> Artifact:  # noqa: ARG002
        """Count and forget."""
        return Artifact(name, len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class LocalTask:
    """A task as the evaluation needs it: both parts, and the fixture as a folder."""

    public: PublicTask
    evaluation: Evaluation
    sealed: Mapping[str, bytes]
    base: Path  # the fixture


def evaluate_locally(
    task: LocalTask,
    submission: Path,
    *,
    launcher: Sequence[str],
    evidence: Evidence | None = None,
    wall_seconds: float = 3600,
    progress: Callable[[str], None] = lambda _: None,
) -> EvaluationReport:
    """Judge a copy of `submission`, a project folder, which itself is only read."""
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        digest = _lay_out(task, submission, root)
        with _checks_process(root) as channel:
            remote = Remote(channel)
            session = Session(
                evaluation=task.evaluation,
                sealed=task.sealed,
                launcher=launcher,
                remote=remote,
                evidence=evidence or NoEvidence(),
                token=token,
                deadline=time.monotonic() + wall_seconds,
                progress=progress,
            )
            session.evaluate()
            with contextlib.suppress(ChannelBroken):
                remote.end()
        run = RunIdentity("local", task.public.name, token)
        return report_of(session, run, pod_uid="", bundle="", sealed="", snapshot=digest)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree as a snapshot would: links that lead out, sockets and the like are left out."""
    target.mkdir(parents=True)
    with tempfile.TemporaryFile() as file:
        snapshot(source, file, max_bytes=MAX_BYTES)
        file.seek(0)
        extract(chunks_of(file), target, unsafe="skip")


def _lay_out(task: LocalTask, submission: Path, root: Path) -> str:
    base, copy = root / "base", root / "submission"
    copy_tree(task.base, base / "project")
    copy_tree(submission, copy)
    digest = tree_digest(inventory(copy).values())
    touched = restore_protected(copy, base / "project", task.public.protected, task.public.generated)
    (base / LAYOUT_FILE).write_bytes(documents.dump(Layout(touched, [])))
    (root / "work").mkdir()
    return digest


def _accepted(listener: Listener) -> Channel:
    try:
        return listener.accept(ACCEPT_SECONDS)
    except TimeoutError as error:
        listener.close()
        raise ChannelBroken("The process that runs checks did not start within a minute.") from error


@contextlib.contextmanager
def _checks_process(root: Path) -> Iterator[Channel]:
    become_subreaper()
    spare = children()
    socket = root / "judge.sock"
    listener = Listener(socket)
    argv = [sys.executable, "-P", "-m", "fairtrial_evaluator.checks"]
    argv += ["--socket", str(socket), "--base", str(root / "base"), "--submission", str(root / "submission")]
    process = subprocess.Popen([*argv, "--work", str(root / "work")], stdin=subprocess.DEVNULL, env=dict(os.environ))
    try:
        with _accepted(listener) as channel:
            yield channel
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        sweep(alone=False, spare=spare)
        process.wait()
