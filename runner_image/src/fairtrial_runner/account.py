"""What the recorder has been told so far, and the report that it makes of it: no input or output of its own."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_type_hints

from fairtrial import documents
from fairtrial.documents import (
    AgentPlan,
    AgentReport,
    Artifact,
    CommandResult,
    Consumption,
    Diff,
    Interaction,
    Leftovers,
    ProbeResult,
    Snapshot,
    StepNotice,
    StepResult,
    Stream,
)
from fairtrial.errors import InvalidInput

_ENDINGS = get_type_hints(AgentReport)["ending"]
# Endings of a run whose agent was never started: nothing that it does may lead to one of them.
_BEFORE_THE_AGENT = ("isolation_not_enforced", "preflight_failed", "leak_found")
_PROVEN = ("proven", "not_applicable")
_PHASE = re.compile(r"[a-z]{1,20}")


@dataclass
class Account:
    """Facts in the order in which launch told them. A message that does not fit raises InvalidInput."""

    plan: AgentPlan
    pod_uid: str
    ending: str | None = None
    message: str = ""
    isolation: Literal["proven", "failed", "not_reached", "not_applicable"] = "not_reached"
    probes: list[ProbeResult] = field(default_factory=list)
    preflight: list[CommandResult] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    initial_state: str | None = None
    steps: list[StepResult] = field(default_factory=list)
    running: StepResult | None = None  # the step that has begun and not ended
    clock: Callable[[], float] = time.monotonic
    leftovers: Leftovers | None = None
    consumption: Consumption | None = None
    timings: dict[str, int] = field(default_factory=dict)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot("missing", reason="not_reached"))
    diff: Diff = field(default_factory=lambda: Diff("missing", reason="not_reached"))
    interaction: Interaction = field(default_factory=lambda: Interaction("not_applicable", reason="no_adapter"))
    _offsets: dict[str, int] = field(default_factory=dict)
    _began: float = 0.0

    def told(self, message: dict[str, Any], seen: dict[str, int]) -> None:
        """Take one message of launch; `seen` is how much of each stream has come before it."""
        kind = message.get("type")
        if kind == "environment":
            self.environment = documents.from_json(dict[str, Any], message.get("value"), "environment")
        elif kind == "initial_state":
            self.initial_state = documents.from_json(str, message.get("sha256"), "initial_state")
        elif kind == "leaks":
            self.leaks = documents.from_json(list[str], message.get("found"), "leaks")
        elif kind == "preflight":
            self.preflight = documents.from_json(list[CommandResult], message.get("results"), "preflight")
        elif kind == "signals":
            self.environment["ignoredSignals"] = documents.from_json(dict[str, int], message.get("ignored"), "signals")
        elif kind == "leftovers":
            self.leftovers = documents.from_json(Leftovers, message.get("value"), "leftovers")
        elif kind == "consumption":
            self.consumption = documents.from_json(Consumption, message.get("value"), "consumption")
        else:
            self._progress(kind, message, seen)

    def _progress(self, kind: Any, message: dict[str, Any], seen: dict[str, int]) -> None:
        if kind == "step_started":
            self._begin(message, seen)
        elif kind == "step":
            result = documents.from_json(StepResult, message.get("result"), "step")
            self.steps.append(replace(result, stream_offsets=self._offsets))
            self.running = None
            facts = self.environment.setdefault("oomKills", {})
            facts[result.name] = message.get("oomKills")
        elif kind == "timing":
            phase = str(message.get("phase"))
            if not _PHASE.fullmatch(phase):
                raise InvalidInput(f"timing: {phase!r} is no phase.")
            self.timings[phase] = documents.from_json(int, message.get("ms"), "timing")
        elif kind == "end":
            self._end(message)
        else:
            raise InvalidInput(f"launch said {kind!r}, which is not known.")

    def next_step(self, message: dict[str, Any]) -> tuple[int, StepNotice]:
        """The number of the step that launch wants to begin, and what the gateway is told of it."""
        name = documents.from_json(str, message.get("name"), "next_step")
        number = len(self.steps) + 1
        if self.running is not None or number > len(self.plan.steps) or self.plan.steps[number - 1].name != name:
            raise InvalidInput(f"launch wants to begin {name!r}, which is not the next step.")
        if self.isolation not in _PROVEN:
            raise InvalidInput("launch wants to start the agent without a proof of its isolation.")
        earlier = sum(step.duration_ms for step in self.steps)
        return number, StepNotice(name, self.plan.steps[number - 1].wall_seconds, earlier)

    def _begin(self, message: dict[str, Any], seen: dict[str, int]) -> None:
        name = documents.from_json(str, message.get("name"), "step_started")
        step = next((one for one in self.plan.steps if one.name == name), None)
        if step is None:
            raise InvalidInput(f"launch began {name!r}, which is no step.")
        if self.isolation not in _PROVEN:
            raise InvalidInput("launch started the agent without a proof of its isolation.")
        began = documents.from_json(str, message.get("startedAt"), "step_started")
        self.running = StepResult(name, step.argv, began, 0, step.wall_seconds, "lost")
        self._offsets, self._began = dict(seen), self.clock()

    def _end(self, message: dict[str, Any]) -> None:
        ending = documents.from_json(_ENDINGS, message.get("ending"), "end")
        if ending in _BEFORE_THE_AGENT and (self.running or self.steps):
            raise InvalidInput(f"launch said {ending!r} when the agent had started.")
        if ending == "isolation_not_enforced" and self.isolation in _PROVEN:
            raise InvalidInput("launch said that there is no proof of isolation, and there is.")
        self.ending = ending
        self.message = documents.from_json(str, message.get("message"), "end")

    def lost(self, why: str, ending: Literal["launch_lost", "recorder_error"] = "launch_lost") -> None:
        """Launch will say no more. What it had said stands."""
        if self.ending is None:
            during = f" during step {self.running.name}" if self.running else ""
            self.ending, self.message = ending, f"{why}{during}"
        if self.running is not None:
            lasted = int((self.clock() - self._began) * 1000)
            self.steps.append(replace(self.running, duration_ms=lasted, stream_offsets=self._offsets))
            self.running = None

    @property
    def unexpected(self) -> bool:
        """Whether launch has not told its end, so that nobody waits for an answer."""
        return self.ending in (None, "launch_lost", "recorder_error")

    def report(self, streams: list[Stream], artifacts: list[Artifact], failures: list[str]) -> AgentReport:
        """The report. `complete` says that launch told its end and that everything kept was also stored."""
        return AgentReport(
            run=self.plan.run,
            pod_uid=self.pod_uid,
            complete=not self.unexpected and not failures,
            ending=documents.from_json(_ENDINGS, self.ending or "recorder_error", "ending"),
            message="; ".join([text for text in [self.message, *failures[:5]] if text])[:4000],
            isolation=self.isolation,
            probes=self.probes,
            preflight=self.preflight,
            leaks=self.leaks,
            environment=self.environment,
            initial_state_sha256=self.initial_state,
            steps=self.steps,
            streams=streams,
            snapshot=self.snapshot,
            diff=self.diff,
            leftovers=self.leftovers,
            consumption=self.consumption,
            interaction=self.interaction,
            artifacts=sorted(artifacts, key=lambda artifact: artifact.name),
            timings_ms=self.timings,
        )
