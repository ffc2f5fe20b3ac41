"""`checks`: runs processes for the judge, and judges nothing itself. PID 1 of its container in a pod.

It connects to the judge before any submitted code runs; the judge's socket is gone after that. It holds no token and
nothing sealed but what one process needs at a time, and no process of the same user can look into it.
"""

import argparse
import contextlib
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial import documents, names
from fairtrial.archive import printable
from fairtrial.channel import Channel, connect
from fairtrial.errors import FairtrialError
from fairtrial.process import hide_from_peers, machine
from fairtrial.task.packed import PROJECT
from fairtrial_evaluator.execute import execute
from fairtrial_evaluator.protocol import Hello, Invocation, TreeName, archive_of, files_of, receive, send
from fairtrial_evaluator.trees import HeldTree

CONNECT_SECONDS = 300
LAYOUT_FILE = "layout.json"


@dataclass(frozen=True)
class Layout:
    """What laying out the submission came to; `fetch` writes it beside the fixture."""

    protected_touched: list[str]
    skipped: list[str]


def serve(channel: Channel, *, base: Path, submission: Path, layout: Path, work: Path) -> None:
    """Answer the judge until it has no more to ask."""
    with contextlib.closing(HeldTree(base)) as fixture, contextlib.closing(HeldTree(submission)) as submitted:
        _serve(channel, {"base": fixture, "submission": submitted}, layout, work)


def _serve(channel: Channel, trees: dict[TreeName, HeldTree], layout: Path, work: Path) -> None:
    known = documents.load(Layout, layout.read_bytes(), name=layout.name)
    skipped = [printable(text) for text in (*known.skipped, *trees["submission"].skipped)][:200]
    hello = Hello(known.protected_touched, skipped, _environment())
    send(channel, documents.to_json(hello), [])
    while True:
        message, parts = receive(channel, None)
        if message.get("type") == "end":
            return
        _answer(channel, trees, message, parts, work)


def main(arguments: list[str] | None = None) -> int:
    """Serve one judge. Without arguments: at the places that a pod has."""
    parser = argparse.ArgumentParser(prog="checks")
    parser.add_argument("--socket", type=Path, default=Path(names.CHANNEL_SOCKET))
    parser.add_argument("--base", type=Path, default=Path(names.BASE_DIR))
    parser.add_argument("--submission", type=Path, default=Path(names.PROJECT_DIR))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args(arguments)
    hide_from_peers()
    base: Path = options.base
    try:
        with connect(options.socket, CONNECT_SECONDS) as channel:
            layout = base / LAYOUT_FILE
            serve(channel, base=base / PROJECT, submission=options.submission, layout=layout, work=options.work)
    except (FairtrialError, OSError) as error:
        # The judge sees the end of the channel and calls the evaluation an error; this is for whoever looks why.
        sys.stderr.write(f"checks: {error}\n")
        return 1
    return 0


def _answer(
    channel: Channel, trees: dict[TreeName, HeldTree], message: dict[str, Any], parts: dict[str, bytes], work: Path
) -> None:
    if message.get("type") == "run":
        invocation = documents.from_json(Invocation, message.get("invocation"), "invocation")
        outcome = execute(trees, invocation, files_of(parts.get("files", b"")), work, alone=os.getpid() == 1)
        answer = {"raw": documents.to_json(outcome.raw)}
        data = [("stdout", outcome.stdout), ("stderr", outcome.stderr), ("results", outcome.results)]
        send(channel, answer, data)
        return
    tree = trees[message["tree"]]
    contents = tree.contents(message["globs"]) if message.get("contents") else {}
    send(channel, {"digests": tree.digests(message["globs"])}, [("contents", archive_of(contents))])


def _environment() -> dict[str, Any]:
    told = {"kernel": platform.release(), "machine": platform.machine(), "path": os.environ.get("PATH", "")}
    return told | {"machineState": machine.state()}


if __name__ == "__main__":
    raise SystemExit(main())
