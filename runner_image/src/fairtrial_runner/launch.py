"""PID 1 of the agent's container: prepares, starts the agent step by step, and leaves nothing of it running.

It tells the recorder everything over the channel and keeps nothing itself. Its own process is closed to the agent, who
is the same user. When the recorder is lost the agent is killed: no work goes unrecorded.
"""

import datetime as dt
import os
import time
from collections.abc import Mapping
from typing import Any

from fairtrial import archive, documents, failure
from fairtrial.channel import Channel, connect
from fairtrial.documents import AgentPlan, Step, StepResult
from fairtrial.errors import ChannelBroken, FairtrialError
from fairtrial.failure import leave
from fairtrial.process import Command, Ended, Stop, hide_from_peers, run
from fairtrial.process.consumption import Counters
from fairtrial_runner import environment
from fairtrial_runner.answers import Answers
from fairtrial_runner.home import filled, furnish, model_token
from fairtrial_runner.leaks import Scan
from fairtrial_runner.leftovers import Inventory
from fairtrial_runner.places import Places
from fairtrial_runner.preflight import preflight
from fairtrial_runner.signals import Watch

_CONNECT_SECONDS = 60.0
_TICK_SECONDS = 1.0
_PROOF_SECONDS = 60.0  # far more than it takes: the recorder begins it before this container is started
_STEP_SECONDS = 90.0  # more than the recorder tries to tell the gateway of a step
Ending = tuple[str, str]  # as AgentReport has it, and a message


class Launch:
    """One agent's run. As PID 1, everything else in sight is the agent's."""

    def __init__(self, places: Places, plan: AgentPlan, channel: Channel, stop: Stop, watch: Watch | None) -> None:
        self._places, self._plan, self._channel, self._stop = places, plan, channel, stop
        self._answers = Answers(channel, on_lost=lambda: stop.set("recorder_lost"))
        self._alone = os.getpid() == 1
        self._ignored: Mapping[str, int] = watch.ignored if watch else {}
        self._token = model_token(places.model_token)
        given = filled(plan.env, self._token)
        self._env = {**environment.inherited(os.environ), **given, "HOME": os.fspath(places.home)}
        self._ended: list[Ended] = []

    def run(self) -> None:
        """Everything from the first proof to the end that is told; what ended it is the last thing said."""
        ending, message = self._prepare() or self._agent()
        if self._stop.reason == "recorder_lost":
            raise ChannelBroken("The recorder is gone: the agent was stopped, since nothing more could be recorded.")
        self._tell("signals", ignored=dict(self._ignored))
        self._tell("end", ending=ending, message=message)
        self._answers.expect("recorded", timeout=self._plan.snapshot_seconds)

    def _prepare(self) -> Ending | None:
        """Scan, wait for the proof, check; why the agent may not start, or None."""
        with self._timed("setup"):
            furnish(self._places.home, filled(self._plan.home_files, self._token))
            facts = environment.describe(self._plan, self._places.candidate, self._env)
            self._tell("environment", value=facts)
            initial = self._state()
            self._tell("initial_state", sha256=initial)
            leaks = self._leaks()
            self._tell("leaks", found=leaks)
        with self._timed("proof"):
            proof = self._answers.expect("isolation", timeout=_PROOF_SECONDS)
        if proof.get("state") not in ("proven", "not_applicable"):
            return "isolation_not_enforced", str(proof.get("message"))
        with self._timed("tools"):  # they are the image's own programs, and so they wait for the proof
            self._tell("environment", value=facts | {"tools": environment.tools(self._env, alone=self._alone)})
        if leaks:
            return "leak_found", f"The sealed part's canary was found in: {', '.join(leaks[:5])}."
        with self._timed("preflight"):
            return self._preflight(initial)

    def _preflight(self, initial: str) -> Ending | None:
        results = preflight(
            self._plan.preflight,
            self._places.project,
            self._places.tmp,
            self._env,
            output=self._channel.send_raw,
            stop=self._stop,
            alone=self._alone,
        )
        self._tell("preflight", results=documents.to_json(results))
        if self._stop.reason:
            return "stopped_from_outside", "Stopped before the agent started."
        if wrong := [result.name for result in results if not result.as_expected]:
            return "preflight_failed", f"Preflight did not end as the task says: {', '.join(wrong)}."
        if results and self._state() != initial:
            return "preflight_failed", "Preflight changed the workspace itself; it must only touch its working folder."
        return None

    def _agent(self) -> Ending:
        """Every step in order; the first that cannot go on ends them all."""
        leftovers = Inventory.begin((self._places.tmp, self._places.home))
        ending: Ending = ("finished", "")
        before = Counters.read()
        with self._timed("agent"):
            for step in self._plan.steps:
                ended = self._step(step, leftovers)
                if (reason := stops_all(step, ended)) is not None:
                    ending = reason
                    break
        if self._alone:  # else the cgroup is not the agent's alone, and counts what others use too
            self._tell("consumption", value=documents.to_json(Counters.read().since(before)))
        self._tell("leftovers", value=documents.to_json(leftovers.finish(self._ended)))
        return ending

    def _step(self, step: Step, leftovers: Inventory) -> Ended:
        if self._plan.tell_steps:
            self._tell("next_step", name=step.name)
            self._answers.expect("step_known", timeout=_STEP_SECONDS)
        began = dt.datetime.now(dt.UTC)
        self._tell("step_started", name=step.name, startedAt=documents.written(began))
        ended = run(
            Command(
                step.argv,
                self._places.project,
                # Some agents believe PWD, which on somebody's own machine names the folder that they came from.
                {**self._env, "PWD": os.fspath(self._places.project), **told(self._plan, step, began)},
                deadline_seconds=step.wall_seconds,
                grace_seconds=self._plan.grace_seconds,
                stdin=step.stdin.encode(),
            ),
            output=self._channel.send_raw,
            stop=self._stop,
            alone=self._alone,
            before_sweep=leftovers.look_at_ports,
        )
        self._ended.append(ended)
        result = step_result(step, began, ended)
        self._tell("step", result=documents.to_json(result), oomKills=ended.oom_kills, unkillable=ended.unkillable)
        return ended

    def _state(self) -> str:
        return archive.tree_digest(archive.inventory(self._places.workspace).values())

    def _leaks(self) -> list[str]:
        scan = Scan()
        scan.environment(self._env)
        for root in (self._places.workspace, self._places.home, self._places.tmp, self._places.candidate):
            scan.tree(root)
        return scan.leaks + (["scan stopped: too much to read"] if scan.exhausted else [])

    def _tell(self, kind: str, **facts: Any) -> None:
        self._channel.send({"type": kind, **facts})

    def _timed(self, phase: str) -> "_Timed":
        return _Timed(self._channel, phase)


class _Timed:
    """Tells how long a phase took."""

    def __init__(self, channel: Channel, phase: str) -> None:
        self._channel, self._phase = channel, phase

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        took = int((time.monotonic() - self._began) * 1000)
        self._channel.send({"type": "timing", "phase": self._phase, "ms": took})


def stops_all(step: Step, ended: Ended) -> Ending | None:
    """Whether the steps end here, and as what; a step that fails by itself does not end them. Pure."""
    if ended.stopped is not None:
        return "stopped_from_outside", f"Stopped during step {step.name}."
    if ended.end == "not_started":
        return "start_failed", f"Step {step.name} could not be started: {ended.error}."
    if ended.timed_out:
        return "deadline", f"Step {step.name} was still running after {step.wall_seconds} s."
    return None


def told(plan: AgentPlan, step: Step, began: dt.datetime) -> Mapping[str, str]:
    """What a step is told about its limits: in a container, nproc and free speak of the whole node. Pure."""
    deadline = began + dt.timedelta(seconds=step.wall_seconds)
    return {
        "FAIRTRIAL_STEP": step.name,
        "FAIRTRIAL_WALL_SECONDS": str(step.wall_seconds),
        "FAIRTRIAL_DEADLINE": deadline.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "FAIRTRIAL_CPU_LIMIT": plan.limits.get("cpu", ""),
        "FAIRTRIAL_MEMORY_LIMIT": plan.limits.get("memory", ""),
    }


def step_result(step: Step, began: dt.datetime, ended: Ended) -> StepResult:
    """A step's end as the report has it. Pure."""
    return StepResult(
        name=step.name,
        argv=step.argv,
        started_at=documents.written(began),
        duration_ms=ended.duration_ms,
        deadline_seconds=step.wall_seconds,
        end=ended.end,
        exit_code=ended.exit_code,
        signal=ended.signal,
        signal_sender="outside" if ended.stopped and ended.signal_sender == "launch" else ended.signal_sender,
        timed_out=ended.timed_out,
        error=ended.error,
    )


def launch(places: Places, channel: Channel, stop: Stop, watch: Watch | None = None) -> None:
    """Run the agent, once everything is laid out, and wait until the recorder has what it left."""
    _wait_for_layout(channel, stop)
    plan = documents.load(AgentPlan, places.plan.read_bytes(), name=os.fspath(places.plan))
    Launch(places, plan, channel, stop, watch).run()


def _wait_for_layout(channel: Channel, stop: Stop) -> None:
    """Wait for the recorder's word that all is there; it knows for how long to try, and says why it gave up."""
    message = None
    while message is None:
        try:
            if (message := channel.receive(_TICK_SECONDS)) is None:
                raise ChannelBroken("The recorder was gone before it had laid out the workspace.")
        except TimeoutError:
            if stop.reason:
                raise FairtrialError("Stopped before the workspace was laid out.") from None
    if not isinstance(message, dict) or message.get("type") != "laid_out":
        raise ChannelBroken(f"The recorder said {message!r} where it tells whether the workspace is laid out.")
    if message.get("failure"):
        raise FairtrialError(f"The workspace could not be laid out: {message['failure']}")


def main() -> int:
    """Run as PID 1 of the agent's container."""
    places, stop = Places.in_pod(), Stop()
    watch = Watch(stop)
    try:
        hide_from_peers()
        channel = connect(places.channel, _CONNECT_SECONDS)
        launch(places, channel, stop, watch)
        channel.close()
    except (FairtrialError, OSError, TimeoutError) as error:
        failure.report(error, places.termination_log)
        return failure.FINAL
    return 0


if __name__ == "__main__":
    leave(main())
