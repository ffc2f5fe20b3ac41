"""What the sidecar does: lay out the workspace, take down what launch tells, take the snapshot, and store it all.

It lives in a container of its own, out of the agent's reach, and has the only token that may store artifacts. The
layout is made beside the proof of isolation, while the agent's container is started; launch waits for both. The end is
one path, whether launch told it, was killed, or never came: snapshot, difference, report. A recorder that was restarted
finds its mark in the spool and accepts no connection: whoever came then would not be launch.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairtrial import archive, documents
from fairtrial.archive import printable
from fairtrial.channel import Channel, Listener, Raw
from fairtrial.documents import AgentPlan, AgentReport, Artifact, Diff, Interaction, Snapshot, StepNotice
from fairtrial.errors import ChannelBroken, FairtrialError, GatewayRefused, InvalidInput
from fairtrial.task.globs import matcher
from fairtrial_runner import isolation
from fairtrial_runner.account import Account
from fairtrial_runner.diff import write_diff
from fairtrial_runner.events import EventWriter
from fairtrial_runner.home import with_key
from fairtrial_runner.places import Places
from fairtrial_runner.setup import Setup, SetupFailed
from fairtrial_runner.streams import StreamKeeper
from fairtrial_runner.uploads import ArtifactStore, Uploads

COLLECTED = "agent/collected.tar"
_SKIPPED_SHOWN = 50
_COLLECTED_BYTES = 64 * 1024 * 1024
_STREAMS = ("stdout", "stderr", "preflight")
_CONFLICT = 409
_TICK_SECONDS = 1.0
_AFTER_SIGTERM_SECONDS = 5.0  # the other containers have ended by then: what they wrote is in the socket
StepTeller = Callable[[int, StepNotice], Artifact]  # tells the gateway; its note of the step


class Recorder:
    """Records one agent pod. `terminating` is set once the kubelet has asked for the end."""

    patience_seconds = 30.0  # from the loss of launch until its container is over

    def __init__(
        self,
        places: Places,
        plan: AgentPlan,
        store: ArtifactStore,
        pod_uid: str,
        terminating: threading.Event,
        setup: Setup,
        tell_step: StepTeller | None = None,
    ) -> None:
        self._places, self._plan, self._terminating = places, plan, terminating
        self._setup = setup
        self._store, self._uploads = store, Uploads(store, places.spool / "stored.jsonl")
        self._account, self._tell_step = Account(plan, pod_uid), tell_step
        folder = places.spool / "streams"
        folder.mkdir(exist_ok=True)
        self._events = EventWriter(plan, places.spool)
        self._streams = {name: self._keeper(name, folder) for name in _STREAMS}

    def _keeper(self, name: str, folder: Path) -> StreamKeeper:
        copies = self._events.copies if self._events.wants(name) else None
        return StreamKeeper(name, folder, self._plan.stream_keep_bytes, self._uploads, copies=copies)

    def run(self) -> AgentReport | None:
        """Everything, from the layout to the stored report; None where the end came before the layout was done.

        SetupFailed where it could not be done.
        """
        channel = self._connection()
        if not self._laid_out(channel):
            return None
        self._take_proof()
        if channel is not None:
            self._tell_proof(channel)
            self._listen(channel)
            if self._account.unexpected:
                # Launch, if it lives, now ends the agent and itself; the kubelet then asks for our end.
                channel.close()
                self._terminating.wait(self.patience_seconds)
        self._timed("snapshot", self._snapshot)
        if channel is not None and not self._account.unexpected:
            self._answer(channel)
            channel.close()
        return self._store_all()

    def _connection(self) -> Channel | None:
        """Launch's connection; None, with the reason in the account, where there will be none."""
        mark = self._places.spool / "connected"
        if mark.exists():
            self._terminating.wait(self.patience_seconds)
            self._account.lost("The recorder was restarted and had lost its connection")
            earlier = self._uploads.earlier()
            for stream in self._streams.values():
                stream.resume(earlier)
            return None
        listener = Listener(self._places.channel)
        while not self._terminating.is_set():
            try:
                channel = listener.accept(_TICK_SECONDS)
            except TimeoutError:
                continue
            mark.touch()  # before launch is told that the agent may start: nobody but launch can have come so far
            return channel
        listener.close()
        self._account.lost("The agent's container ended without having connected")
        return None

    def _laid_out(self, channel: Channel | None) -> bool:
        """Wait for the layout, but not past the pod's end, and tell launch what came of it."""
        if self._setup.wait(self._terminating):
            self._account.timings["layout"] = self._setup.milliseconds
            error = self._setup.failure
            if channel is not None:
                with contextlib.suppress(ChannelBroken):  # launch is gone already; listening will say so
                    channel.send({"type": "laid_out", "failure": str(error) if error else ""})
            if error is not None:
                self._terminating.wait()  # launch ends now, and the kubelet then asks for our end
                raise SetupFailed(error)
        return self._places.plan.exists()

    def _take_proof(self) -> None:
        """Wait for the proof; one that broke off proves nothing."""
        proof = self._setup.proof
        proof.join()
        if proof.results is not None:
            self._account.probes = proof.results
            self._account.isolation = isolation.judge(proof.results, self._plan.probe_attempts)
            self._account.timings["isolation"] = proof.milliseconds

    def _tell_proof(self, channel: Channel) -> None:
        """Launch starts the agent on this word alone."""
        message = isolation.reached(self._account.probes, self._plan.probe_attempts)
        with contextlib.suppress(ChannelBroken):  # launch is gone already; listening will say so
            channel.send({"type": "isolation", "state": self._account.isolation, "message": message})

    def _listen(self, channel: Channel) -> None:
        """Take down messages until launch has told its end or is gone. Nothing that it sends ends the recorder."""
        until = float("inf")
        try:
            while self._account.ending is None:
                if self._terminating.is_set():
                    until = min(until, time.monotonic() + _AFTER_SIGTERM_SECONDS)
                if time.monotonic() > until:
                    self._account.lost("Launch was still connected, and silent, after its container should have ended")
                    return
                self._next(channel)
        except (ChannelBroken, InvalidInput) as error:
            self._account.lost(str(error))
        except OSError as error:
            self._account.lost(f"The recorder could not write to its spool: {error}", ending="recorder_error")

    def _next(self, channel: Channel) -> None:
        try:
            message = channel.receive(_TICK_SECONDS)
        except TimeoutError:
            for stream in self._streams.values():
                stream.tick()
            return
        if message is None:
            self._account.lost("Launch was gone before it had told its end")
        elif isinstance(message, Raw):
            if message.stream not in self._streams:
                raise InvalidInput(f"launch sent the unknown stream {message.stream!r}.")
            self._streams[message.stream].add(message.data)
            self._events.arrived(message.stream, self._streams[message.stream].seen)
        elif message.get("type") == "next_step":
            self._begin_step(channel, message)
        else:
            self._events.told(message)
            self._account.told(message, {name: stream.seen for name, stream in self._streams.items()})

    def _begin_step(self, channel: Channel, message: dict[str, Any]) -> None:
        """Let launch begin a step once the gateway knows of it: its calls are counted for no other."""
        number, notice = self._account.next_step(message)
        try:
            if self._tell_step is not None:
                self._uploads.note(self._tell_step(number, notice))
        except FairtrialError as error:
            self._account.lost(f"The gateway was not told of step {notice.name}: {error}", ending="recorder_error")
            return
        channel.send({"type": "step_known", "name": notice.name})

    @staticmethod
    def _answer(channel: Channel) -> None:
        try:
            channel.send({"type": "recorded"})
        except ChannelBroken:
            return  # launch did not wait; what it told is complete all the same

    def _snapshot(self) -> None:
        """Archive the workspace into the spool and compare it with the fixture."""
        file, patch = self._places.spool / "snapshot.tar", self._places.spool / "diff.patch"
        try:
            with file.open("wb") as sink:
                taken = archive.snapshot(self._places.workspace, sink, max_bytes=self._plan.snapshot_max_bytes)
            with patch.open("wb") as sink:
                counts = write_diff(self._places.bundle, file, self._plan.generated, sink)
        except (OSError, FairtrialError) as error:
            reason = f"{type(error).__name__}: {error}"
            self._account.snapshot, self._account.diff = (
                Snapshot("missing", reason=reason),
                Diff("missing", reason=reason),
            )
            return
        skipped = [printable(line) for line in taken.skipped]
        if taken.skipped_count > len(skipped):
            skipped.append(f"and {taken.skipped_count - len(skipped)} more")

        def snapshot_stored(artifact: Artifact) -> None:
            self._account.snapshot = Snapshot("measured", artifact, taken.files, taken.content_bytes, skipped)

        def diff_stored(artifact: Artifact) -> None:
            self._account.diff = counts.as_diff(artifact)

        not_stored = "could not be stored"
        self._account.snapshot, self._account.diff = (
            Snapshot("missing", reason=not_stored),
            Diff("missing", reason=not_stored),
        )
        self._uploads.put("agent/snapshot.tar", file, media_type="application/x-tar", then=snapshot_stored)
        self._uploads.put("agent/diff.patch", patch, media_type="text/x-diff", then=diff_stored)

    def _collect(self) -> None:
        """Archive those files of the agent's home that the candidate names; what is missing is no fault."""
        file = self._places.spool / "collected.tar"
        named = matcher(self._plan.collect)
        keys = sorted(path for path in with_key(self._plan.home_files) if named(path))
        try:
            with file.open("wb") as sink:
                taken = archive.snapshot(
                    self._places.home,
                    sink,
                    max_bytes=_COLLECTED_BYTES,
                    wanted=lambda path: named(path) and path not in keys,
                )
        except (OSError, FairtrialError) as error:
            self._account.environment["collected"] = {"error": f"{type(error).__name__}: {error}"}
            return
        skipped = [f"{path}: holds the key for model calls" for path in keys]
        skipped += [printable(line) for line in taken.skipped[:_SKIPPED_SHOWN]]
        self._account.environment["collected"] = {"files": taken.files, "skipped": skipped}
        if taken.files:
            self._events.keep_collected(file)
            self._uploads.put(COLLECTED, file, media_type="application/x-tar", then=lambda _: None)

    def _store_all(self) -> AgentReport:
        if self._plan.collect:
            self._timed("collect", self._collect)
        for stream in self._streams.values():
            stream.finish()
        if self._plan.adapter is not None:
            self._timed("events", self._normalize)
        self._timed("upload", self._uploads.finish)
        streams = [stream.result() for stream in self._streams.values() if stream.seen or stream.name != "preflight"]
        report = self._account.report(streams, self._uploads.stored, self._uploads.failures)
        try:
            self._store.put_artifact("agent/report.json", documents.dump(report), media_type="application/json")
        except GatewayRefused as refusal:
            if refusal.status != _CONFLICT:
                raise  # another report is there already: an earlier life of this container was done
        return report

    def _normalize(self) -> None:
        def told(interaction: Interaction) -> None:
            self._account.interaction = interaction

        self._events.write(self._streams.values(), COLLECTED, self._uploads, told)

    def _timed(self, phase: str, work: Callable[[], None]) -> None:
        began = time.monotonic()
        work()
        self._account.timings[phase] = int((time.monotonic() - began) * 1000)
