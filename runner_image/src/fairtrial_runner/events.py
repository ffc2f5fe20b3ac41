"""Have what was recorded read with the candidate's adapter, and store what comes of it. Its failure loses no run."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairtrial import documents
from fairtrial.archive import printable
from fairtrial.documents import AgentPlan, Artifact, Interaction
from fairtrial_runner.arrivals import Arrivals
from fairtrial_runner.normalizing import EVENTS, INTERACTION, SECONDS, Job, Recorded
from fairtrial_runner.streams import StreamKeeper
from fairtrial_runner.uploads import Uploads

_PATIENCE_SECONDS = 30.0  # beyond its own deadline
_REASON_CHARACTERS = 500
_LISTS = ("tests", "inspected", "modified", "repetitions", "unknownRefs")


class EventWriter:
    """Keeps what the adapter will read, and has it read at the end. Does nothing where the plan has no adapter."""

    def __init__(self, plan: AgentPlan, spool: Path) -> None:
        self._plan, self._folder = plan, spool / "events"
        self._read = _reads(plan.adapter or {})
        self.copies = self._folder / "copies" if plan.adapter else None
        if self.copies is not None:
            self.copies.mkdir(parents=True, exist_ok=True)
        self._arrivals = {name: Arrivals() for name in self._read if name != "file"}

    def wants(self, stream: str) -> bool:
        """Whether the adapter reads this stream."""
        return stream in self._read

    def told(self, message: dict[str, Any]) -> None:
        """Time counts from the start of the first step."""
        if message.get("type") == "step_started":
            for one in self._arrivals.values():
                one.begin()

    def arrived(self, stream: str, seen: int) -> None:
        """So much of a stream has come."""
        if stream in self._arrivals:
            self._arrivals[stream].add(seen)

    def keep_collected(self, file: Path) -> None:
        """Keep the archive of collected files until the adapter has read it."""
        if self.wants("file"):
            with contextlib.suppress(OSError):
                os.link(file, self._folder / "collected.tar")

    def write(self, streams: Iterable[StreamKeeper], artifact: str, uploads: Uploads, then: "Then") -> None:
        """Have everything read, hand the two documents over to be stored, and tell what has become of it."""
        if self._plan.adapter is None:
            return
        name = str(self._plan.adapter.get("name", ""))
        try:
            job = self._job({one.name: one for one in streams}, artifact)
            reason = self._run(job)
            counts = {} if reason else json.loads((self._folder / INTERACTION).read_bytes())
        except (OSError, ValueError) as error:
            reason, counts = f"{type(error).__name__}: {error}", {}
        if reason:
            then(Interaction("missing", name, reason=reason))
            return
        summary = {key: value for key, value in counts.items() if key not in _LISTS}
        made = _Made(Interaction("measured", name, summary=summary), then)
        uploads.put("agent/events.jsonl", self._folder / EVENTS, media_type="application/x-ndjson", then=made.events)
        uploads.put(
            "agent/interaction.json", self._folder / INTERACTION, media_type="application/json", then=made.counts
        )

    def _job(self, streams: dict[str, StreamKeeper], artifact: str) -> Path:
        """Write down what is to be read."""
        assert self._plan.adapter is not None
        assert self.copies is not None
        recorded = {}
        for name, marks in self._arrivals.items():
            pieces = sorted(str(file) for file in self.copies.glob(f"{name}.*"))
            if [Path(one).suffix for one in pieces] != [f".{number:06d}" for number in range(len(pieces))]:
                raise OSError(f"not every piece of {name} could be kept")
            seam, left_out = streams[name].seam
            recorded[name] = Recorded(pieces, seam, left_out, [list(mark) for mark in marks.marks])
        collected = self._folder / "collected.tar"
        job = Job(self._plan.adapter, recorded, str(collected) if collected.exists() else None, artifact)
        file = self._folder / "job.json"
        file.write_bytes(documents.dump(job))
        return file

    def _run(self, job: Path) -> str | None:
        """Why it failed, or None."""
        command = [*_interpreter(), "fairtrial_runner.normalizing", str(job)]
        try:
            done = subprocess.run(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=SECONDS + _PATIENCE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "reading the events took too long"
        if done.returncode == 0:
            return None
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = printable(lines[-1])[:_REASON_CHARACTERS] if lines else ""
        return f"reading the events ended with {done.returncode}: {last}"


Then = Callable[[Interaction], None]


class _Made:
    """Tells once both documents are stored; until then, that they are not."""

    def __init__(self, interaction: Interaction, then: Then) -> None:
        self._interaction, self._then = interaction, then
        then(replace(interaction, state="missing", reason="could not be stored", summary={}))

    def events(self, artifact: Artifact) -> None:
        """The events are stored."""
        self._interaction = replace(self._interaction, events=artifact)

    def counts(self, artifact: Artifact) -> None:
        """The counts are stored, after the events."""
        if self._interaction.events is not None:
            self._then(replace(self._interaction, counts=artifact))


def _interpreter() -> list[str]:
    """The argv by which another module starts as this program did: in a pod perhaps by a loader of our own."""
    told = Path("/proc/self/cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    as_module = told[-1].startswith("fairtrial_runner.")
    return told[:-1] if as_module else [sys.executable, "-P", "-m"]


def _reads(adapter: dict[str, Any]) -> set[str]:
    """The streams that an adapter reads, from its unchecked form."""
    sources = adapter.get("sources")
    found = [one.get("read", "stdout") for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    return {name for name in found if name in ("stdout", "stderr", "file")}
