"""One record reduced to one row: all that the analysis needs of a run, so that records can be dropped. Pure."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from fairtrial.api.provider import Pricing
from fairtrial.api.run import Invalidity
from fairtrial.cohort.comparability import Observed
from fairtrial.cohort.schedule import Entry
from fairtrial.evidence.record_model import Record
from fairtrial_analysis.load.conduct import trace_gaps
from fairtrial_analysis.load.values import values_of
from fairtrial_analysis.rule.results import Outcome, Trial
from fairtrial_analysis.stats.value import Value

OOM_KILLED = "OOMKilled"
NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices that a run's cost was made by, and of which model."""

    model: str
    pricing: Pricing


@dataclass(frozen=True, slots=True)
class Row:
    """One run, or an entry of the schedule without one: those have no UID, no record and no values."""

    run: str
    index: int
    block: str
    task: str
    arm: str
    repetition: int
    place: int  # in its block, from 1
    outcome: Outcome
    uid: str = ""
    cause: str = ""
    reason: str = ""
    message: str = ""
    category: str | None = None
    tags: tuple[str, ...] = ()
    invalidity: Invalidity | None = None
    replaces: str | None = None
    answered: bool = False  # whether a model's answer reached the agent
    record_sha256: str = ""
    started_at: str = ""
    node: str = ""
    models: tuple[str, ...] = ()
    pinned: str = ""  # the model that calls may name; empty without a provider
    isolation: str = ""
    oom_kills: int | None = None
    leaks: int | None = None
    trace_gaps: tuple[str, ...] = ()
    circumstances: Mapping[str, str] = field(default_factory=dict)
    observed: Observed | None = None  # of valid runs: what comparability is judged by
    prices: Prices | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    corrected: tuple[int, ...] = ()
    integrity: bool = False  # the record can't be used; an integrity error says why

    @property
    def begun(self) -> bool:
        """Whether there was a run."""
        return self.outcome != "not_run"

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.outcome in ("passed", "failed")

    def trial(self, first_in_block: bool | None) -> Trial:
        """The row as a decision rule sees it."""
        return Trial(
            self.run,
            self.task,
            self.arm,
            self.repetition,
            self.outcome,
            self.values,
            self.cause,
            self.category,
            self.tags,
            self.invalidity,
            self.replaces,
            first_in_block,
            self.record_sha256,
        )


def unrun(entry: Entry, place: int, reason: str) -> Row:
    """The row of an entry that no run was made of."""
    return Row(
        entry.run, entry.index, entry.block, entry.task, entry.candidate, entry.repetition, place, "not_run",
        reason=reason,
    )  # fmt: skip


def row_of(record: Record, sha256: str, entry: Entry, place: int, accounted: str) -> Row:
    """The row of a record that belongs to this entry of the schedule."""
    identity, found, usage = record.identity, record.classification, record.usage
    provider = record.configuration.provider.value
    valid = found.outcome in ("passed", "failed")
    replaces = record.lineage.replaces
    return Row(
        run=identity.run,
        index=entry.index,
        block=entry.block,
        task=entry.task,
        arm=entry.candidate,
        repetition=entry.repetition,
        place=place,
        outcome=found.outcome,
        uid=identity.uid,
        cause=sys.intern(found.cause),
        reason=sys.intern(found.reason),
        message=found.message,
        category=found.category,
        tags=_shared(found.tags),
        invalidity=found.invalidity,
        replaces=replaces.name if replaces else None,
        answered=bool(usage.answered_calls.value),
        record_sha256=sha256,
        started_at=record.timings.timestamps.get("agentStarted", ""),
        node=sys.intern((record.pods.agent and record.pods.agent.node) or ""),
        models=_shared(tuple(sorted(usage.answered_models.value or ()))),
        pinned=sys.intern(provider.model.id) if provider else "",
        isolation=record.isolation.state,
        oom_kills=_oom_kills(record),
        leaks=usage.leaks.value,
        trace_gaps=_shared(trace_gaps(record)),
        circumstances=_circumstances(record),
        observed=_observed(record) if valid else None,
        prices=_prices(provider.model.id, provider.pricing) if provider and provider.pricing else None,
        values=values_of(record, accounted),
    )


@lru_cache(maxsize=4096)
def _shared(values: tuple[str, ...]) -> tuple[str, ...]:
    return values


def _observed(record: Record) -> Observed:
    made = Observed.of(record)
    values = {name: sys.intern(value) for name, value in made.values.items()}
    return Observed(made.run, made.block, made.candidate, values, sys.intern(made.image))


_PRICES: dict[str, Prices] = {}


def _prices(model: str, pricing: Pricing) -> Prices:
    return _PRICES.setdefault(f"{model}\n{pricing.model_dump_json()}", Prices(model, pricing))


def _circumstances(record: Record) -> dict[str, str]:
    """What might differ between arms although it should not; values are text, shared between rows."""
    environment, resources = record.environment, record.environment.resources.value
    agent = record.pods.agent.facts if record.pods.agent else None
    ended = agent.containers.get("agent") if agent else None
    kernel = environment.agent.get("kernel")
    found = {
        "node": (record.pods.agent and record.pods.agent.node) or NOT_RECORDED,
        "kernel": str(kernel) if kernel else NOT_RECORDED,
        "resourceClass": environment.resource_class,
        "requests": _text(resources.requests.as_json() if resources and resources.requests else None),
        "limits": _text(resources.limits.as_json() if resources and resources.limits else None),
        "agentImage": environment.resolved_images.get("agent/agent", NOT_RECORDED),
        "evaluatorImage": environment.evaluator_image.value or NOT_RECORDED,
        "agentEnded": (ended.reason if ended else "") or NOT_RECORDED,
        "podEnded": (agent.reason or agent.phase if agent else "") or NOT_RECORDED,
        "throttling": _throttling(record.consumption.throttled_periods.value),
    }
    return {name: sys.intern(value) for name, value in found.items()}


def _throttling(periods: int | None) -> str:
    """Whether the processor quota held the agent back at all: how long is an amount of its own."""
    return NOT_RECORDED if periods is None else "some" if periods else "none"


def _oom_kills(record: Record) -> int | None:
    """Kills in the agent's own cgroup, by its steps' counters; None where nobody counted."""
    told = record.environment.agent.get("oomKills")
    counts = [each for each in told.values() if isinstance(each, int)] if isinstance(told, dict) else []
    agent = record.pods.agent.facts if record.pods.agent else None
    killed = agent is not None and any(each.reason == OOM_KILLED for each in agent.containers.values())
    if not counts:
        return 1 if killed else None
    return max(sum(counts), int(killed))


def _text(value: object) -> str:
    if value is None:
        return NOT_RECORDED
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
