"""Run the task's preflight on a copy of the project, so that the agent starts from exactly what the task fixed."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fairtrial.documents import CommandResult, Preflight
from fairtrial.process import Command, Ended, Stop, run

Output = Callable[[str, bytes], None]


def preflight(
    commands: list[Preflight],
    project: Path,
    tmp: Path,
    env: Mapping[str, str],
    *,
    output: Output,
    stop: Stop,
    alone: bool,
) -> list[CommandResult]:
    """Run each command in one copy of the project with a home of its own; the copy is gone afterwards."""
    if not commands:
        return []
    scratch = Path(tempfile.mkdtemp(prefix="fairtrial-preflight-", dir=tmp))
    try:
        copy, home = scratch / "project", scratch / "home"
        shutil.copytree(project, copy, symlinks=True)
        home.mkdir()
        own = {**env, "HOME": str(home), "TMPDIR": str(home), "XDG_CACHE_HOME": str(home)}
        return [_one(each, copy, own, output=output, stop=stop, alone=alone) for each in commands]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _one(
    command: Preflight, cwd: Path, env: Mapping[str, str], *, output: Output, stop: Stop, alone: bool
) -> CommandResult:
    ended = run(
        Command(command.argv, cwd, env, deadline_seconds=command.timeout_seconds, grace_seconds=2),
        output=lambda _stream, data: output("preflight", data),
        stop=stop,
        alone=alone,
    )
    if ended.error:
        output("preflight", f"{ended.error}\n".encode())
    return CommandResult(
        name=command.name,
        argv=command.argv,
        exit_code=ended.exit_code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        duration_ms=ended.duration_ms,
        as_expected=as_expected(command, ended),
    )


def as_expected(command: Preflight, ended: Ended) -> bool:
    """A command that was killed, or could not be started, never ended as the task says. Pure."""
    return ended.end == "exited" and not ended.timed_out and ended.exit_code in command.expect_exit
