"""Synthetic evidence of whole cohorts: preregistration, ledger and records as the operator would have stored them.

For tests, benchmarks and examples of the report. What each run came to is a function of its place (`Story`), so that
the truth is known; everything else is made by the same code that makes real records. No clock and no randomness.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from fairtrial import documents
from fairtrial.api.cohort import BenchmarkCohort
from fairtrial.api.provider import ModelProvider
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.preregistration import Found, document, to_bytes
from fairtrial.cohort.schedule import Entry, replacement_name, schedule_of
from fairtrial.evidence.correction import Correction
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.record import assemble
from fairtrial.testing import (
    CANDIDATE_IMAGE,
    COHORT_UID,
    agent_report,
    call_course,
    check_result,
    confirmatory,
    evaluation_report,
    interaction_summary,
    make_cohort,
    make_finished_run,
    make_resource_class,
    make_task,
    pod_facts,
)
from fairtrial.usage.calls import ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.money import Cost
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.source import StoreSource
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.model import Report
from fairtrial_analysis.rule.shipped import paired_rule

JsonObject = dict[str, Any]
TREATMENT, CONTROL = "framework", "plain"
NAMESPACE, NAME = "trials", "example"
MODEL = "model-2026-01-01"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CATEGORIES = (
    "simple feature addition", "field propagation", "cross-feature rule", "external adapter", "localized defect",
    "misleading symptom", "authorization change", "data migration", "operation rename", "read-only question",
)  # fmt: skip


@dataclass(frozen=True)
class Came:
    """What one run came to. `tokens` None is a provider that did not report them."""

    outcome: str = "passed"  # passed, failed, invalid, cancelled
    tokens: int | None = 10_000
    category: str = "acceptance_failure"
    seconds: int = 60
    tool_calls: int = 12
    node: str = "node-1"
    model: str = MODEL
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the record, by dotted path


Story = Callable[[int, str, int, int], Came]  # task, arm, repetition, attempt; all but the last from 1


@dataclass(frozen=True)
class Example:
    """The stored evidence of one cohort."""

    cohort: BenchmarkCohort
    store: MemoryStore
    layout: Layout
    size: int  # entries of the ledger

    @property
    def address(self) -> tuple[str, str, str]:
        """Namespace, name and UID."""
        return self.cohort.metadata.namespace, self.cohort.metadata.name, self.cohort.metadata.uid

    def source(self, ledger_size: int | None = None) -> StoreSource:
        """To load it from."""
        return StoreSource(self.store, self.layout, self.address, ledger_size)


def number(label: str, values: int) -> int:
    """A number below `values` that depends on the label alone, and looks random."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") % values


def usual(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """An effect with all that real cohorts have: failures, lost runs, replacements, tokens that nobody reported."""
    label = f"{task}/{arm}/{repetition}"
    size = 6_000 * (task + 2) * (70 + number(f"{label}/size", 60)) // 100
    tokens: int | None = size * (72 + task) // 100 if arm == TREATMENT else size
    lost = (task, arm, repetition) in {(3, TREATMENT, 2), (7, CONTROL, 4)}
    if lost and attempt == 0:
        return Came("invalid", None)
    failed = number(f"{label}/outcome", 100) < (12 if arm == TREATMENT else 18)
    if (task, arm, repetition) == (5, CONTROL, 3):
        tokens = None
    return Came(
        "failed" if failed else "passed",
        tokens,
        ("acceptance_failure", "hidden_regression", "incomplete_implementation", "type_error")[number(label, 4)],
        seconds=45 + number(f"{label}/seconds", 400),
        tool_calls=6 + number(f"{label}/calls", 40),
        node=f"node-{1 + number(f'{label}/node', 3)}",
    )


def troubled(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """As usual, with all that adapters, gateways and kernels tell: faults, retries, growing contexts, leftovers."""
    came = usual(task, arm, repetition, attempt)
    if came.outcome not in ("passed", "failed"):
        return came
    label = number(f"{task}/{arm}/{repetition}/trouble", 1000)
    course, busy = call_course(label), 500 * came.seconds
    told = {
        "usage.course.faults": sum(course.faults.values()),
        "usage.course.recoveredFaults": course.recovered,
        "usage.course.firstTokenMs": course.first_token_ms,
        "usage.course.startFirstTokenMs": course.first_tokens_ms.start,
        "usage.course.tailFirstTokenMs": course.first_tokens_ms.tail,
        "usage.course.largestInputTokens": course.largest_input,
        "usage.course.startInputTokens": course.inputs.start,
        "usage.course.tailInputTokens": course.inputs.tail,
        "consumption.cpuMs": busy,
        "consumption.throttledPeriods": label % 40,
        "consumption.throttledMs": label % 40 * 35,
        "consumption.memoryPeakBytes": 2**28 + label * 2**16,
    }
    fields = {path: _measured(value) for path, value in told.items()}
    leftovers = {"leftovers.value.processesSwept": int(label % 9 == 0)}
    return replace(came, fields=fields | leftovers | {"interaction.metrics": interaction_summary(label)})


def example(
    story: Story = usual, tasks: int = 10, repetitions: int = 5, *, corrections: Iterable[Correction] = (), **spec: Any
) -> Example:
    """A confirmatory cohort of two arms by the shipped rule, carried out to its end. `spec` changes its spec."""
    cohort = cohort_of(tasks, repetitions, **spec)
    layout, store = Layout(), MemoryStore()
    here = layout.cohort(cohort.metadata.namespace, cohort.metadata.name, cohort.metadata.uid)
    sealed = preregistration_of(cohort)
    store.put(here.preregistration(), sealed)
    digest = hashlib.sha256(sealed).hexdigest()
    ledger = Ledger(cohort.metadata.name, cohort.metadata.uid)
    clock = _Clock()

    def append(*entries: LedgerEntry) -> None:
        data = ledger.page(entries, clock.at()).to_bytes()
        store.put(here.ledger_page(ledger.size + 1), data)
        ledger.take(data)

    append(LedgerEntry("sealed", sha256=digest))
    for task in cohort.spec.tasks:
        store.put(layout.public_archive(task.public_sha256), archive_of(task.name, "public"))
    names = {task.name: number for number, task in enumerate(sorted(cohort.spec.tasks, key=lambda one: one.name), 1)}
    for entry in schedule_of(cohort).entries:
        came = partial(story, names[entry.task], entry.candidate, entry.repetition)
        for entries, data in _chain(cohort, entry, digest, came, clock):
            append(*entries)
            if data is not None:
                said = entries[0]
                store.put(layout.run(NAMESPACE, said.run, said.uid, cohort.metadata.name).record(), data)
    append(LedgerEntry("complete", counts=_counts(ledger, len(schedule_of(cohort).entries))))
    for one in corrections:
        store.put(here.correction(one.number), one.to_bytes())
        run = one.supersedes.run if one.supersedes else ""
        append(LedgerEntry("correction", run=run, sha256=one.sha256))
    return Example(cohort, store, layout, ledger.size)


def cohort_of(tasks: int = 10, repetitions: int = 5, **spec: Any) -> BenchmarkCohort:
    """The cohort's object: ten tasks with their categories, two arms that differ in one argument, the shipped rule."""
    rule = paired_rule(TREATMENT, CONTROL)
    frozen = {k: v for k, v in documents.to_json(rule).items() if k not in ("treatment", "control", "schemaVersion")}
    arm = {"version": "1.0", "image": CANDIDATE_IMAGE}
    shown = [{"uri": "https://example.org/gates/acceptance.json", "sha256": "9" * 64, "says": "Both pass 412 checks."}]
    good = confirmatory() | {
        "mode": "mechanism",
        "constitution": confirmatory()["constitution"]
        | {
            "question": "Does the framework save tokens at equal success?",
            "permittedClaim": "On these ten tasks the framework takes fewer tokens, and succeeds about as often.",
            "primaryMetrics": ["success_rate", "accounted_tokens"],
            "secondaryMetrics": ["duration_ms", "tool_calls", "cost"],
        },
        "gates": [
            {"name": name, "says": says, "needed": "verdict", "evidence": shown if name not in _SEEN else []}
            for name, says in _GATES.items()
        ],
        "tasks": [
            {
                "name": f"task-{number:02}",
                "publicSha256": sha256(archive_of(f"task-{number:02}", "public")),
                "sealedSha256": sha256(archive_of(f"task-{number:02}", "sealed")),
                "category": CATEGORIES[(number - 1) % len(CATEGORIES)],
            }
            for number in range(1, tasks + 1)
        ],
        "candidates": [
            arm | {"name": CONTROL, "role": "control", "argv": ["/bin/agent", "{prompt}"]},
            arm | {"name": TREATMENT, "role": "treatment", "argv": ["/bin/agent", "--framework", "{prompt}"]},
        ],
        "repetitions": repetitions,
        "execution": {"resourceClassName": "small", "network": {"modelProviderRef": {"name": "provider"}}},
        "decisionRule": frozen,
        "analysis": {"version": "0.1.0", "image": CANDIDATE_IMAGE, "seed": 20260723},
    }
    return make_cohort(NAME, namespace=NAMESPACE, metadata={"uid": COHORT_UID}, **good | spec)


def archive_of(task: str, kind: str) -> bytes:
    """A task's `public` or `sealed` archive: nobody opens it here, it only has to have a digest."""
    return f"The {kind} archive of {task}.\n".encode()


def preregistration_of(cohort: BenchmarkCohort) -> bytes:
    """What sealing it stores."""
    tasks = {
        task.name: make_task(
            task.name,
            namespace=NAMESPACE,
            publicArchive={"sha256": task.public_sha256, "size": 10240},
            sealedArchive={"sha256": task.sealed_sha256, "size": 10240},
        )
        for task in cohort.spec.tasks
    }
    found = Found(tasks, make_resource_class(), {"provider": ModelProvider.model_validate(_PROVIDER)})
    return to_bytes(document(cohort, found))


_SEEN = ("isolation", "model-immutable")
_GATES = {
    "isolation": "Agents reach nothing that they should not.",
    "behavioural-equivalence": "Both applications pass the same acceptance suite.",
    "measurement-reliability": "Telemetry was tested against known sessions.",
    "model-immutable": "One immutable model answered.",
}
_PROVIDER: JsonObject = {
    "metadata": {"name": "provider", "namespace": NAMESPACE, "uid": "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a07"},
    "spec": {
        "url": "https://models.example.org",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "key", "key": "key"},
        "model": {"id": MODEL},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
        "pricing": {
            "snapshot": "prices-2026-01",
            "currency": "USD",
            "effectiveDate": "2026-01-01",
            "perMillionTokens": {"input": "3", "cachedInput": "0.30", "output": "15"},
        },
    },
}


def _chain(
    cohort: BenchmarkCohort, entry: Entry, preregistration: str, came: Callable[[int], Came], clock: "_Clock"
) -> Iterator[tuple[list[LedgerEntry], bytes | None]]:
    """A scheduled run and, where it is invalid, one replacement: the ledger's entries page by page, with the record."""
    before: LedgerEntry | None = None
    for attempt in range(2):
        run = replacement_name(entry.run, attempt) if attempt else entry.run
        result = came(attempt)
        yield [LedgerEntry("ticket", run=run, index=entry.index)], None
        raw = record_of(cohort, entry, run, result, preregistration, before, clock)
        data = documents.dump(raw)
        found = raw["classification"]
        said = LedgerEntry(
            "record", run=run, uid=raw["identity"]["uid"], index=entry.index, sha256=hashlib.sha256(data).hexdigest(),
            outcome=found["outcome"], invalidity=found.get("invalidity") or "", reason=found["reason"],
        )  # fmt: skip
        entries = [said]
        again = result.outcome == "invalid" and attempt == 0
        if again:
            why = "host_failure by node_lost: the node was lost."
            by = replacement_name(entry.run, 1)
            entries.append(
                LedgerEntry("replacement", run=run, uid=said.uid, index=entry.index, by=by, code="allowed", why=why)
            )
        yield entries, data
        if not again:
            return
        before = said


def record_of(
    cohort: BenchmarkCohort,
    entry: Entry,
    run: str,
    came: Came,
    preregistration: str,
    before: LedgerEntry | None,
    clock: "_Clock",
) -> JsonObject:
    """The record of one run as JSON: a real one of its kind, with what tells it apart put in. Takes its time."""
    raw: JsonObject = documents.load(JsonObject, _template(came.outcome, came.category, entry.candidate, cohort))
    uid = str(_uuid(f"{cohort.metadata.uid}/{run}"))
    task = next(one for one in cohort.spec.tasks if one.name == entry.task)
    raw["identity"] |= {
        "run": run, "uid": uid, "candidate": entry.candidate, "repetition": entry.repetition, "block": entry.block,
    }  # fmt: skip
    raw["identity"]["task"] |= {
        "name": task.name,
        "publicSha256": _measured(task.public_sha256),
        "sealedSha256": _measured(task.sealed_sha256),
    }
    raw["lineage"] |= {
        "cohort": cohort.metadata.name, "preregistrationSha256": preregistration, "scheduleIndex": entry.index,
    }  # fmt: skip
    if before is not None:
        raw["lineage"]["replaces"] = {"name": before.run, "uid": before.uid}
    times = {"accepted": clock.at(1), "agentCreated": clock.at(1), "agentStarted": clock.at(9)}
    raw["timings"]["timestamps"] = times | {"agentFinished": clock.at(came.seconds)}
    raw["pods"]["agent"]["node"] = came.node
    raw["interaction"]["wallMs"] = _measured(1000 * came.seconds)
    raw["interaction"]["toolCalls"] = _measured(came.tool_calls)
    _spend(raw["usage"], came)
    for path, value in came.fields.items():
        _put(raw, path.split("."), value)
    return raw


def _spend(usage: JsonObject, came: Came) -> None:
    if came.tokens is None:
        lost = {"state": "missing", "reason": "not_reported"}
        usage |= {f"{name}Tokens": lost for name in ("allInput", "uncachedInput", "output", "total")} | {"cost": lost}
        return
    output = came.tokens // 10
    fresh = came.tokens - output
    usage |= {
        "allInputTokens": _measured(fresh),
        "uncachedInputTokens": _measured(fresh),
        "outputTokens": _measured(output),
        "totalTokens": _measured(came.tokens),
        "answeredModels": _measured([came.model]),
        "cost": _measured(_decimal(fresh * 3 + output * 15)),
    }


@cache
def _template_bytes(outcome: str, category: str, candidate: str, cohort_json: str) -> bytes:
    cohort = BenchmarkCohort.model_validate_json(cohort_json)
    arm = next(one for one in cohort.spec.candidates if one.name == candidate)
    own = {k: v for k, v in arm.as_json().items() if k not in ("role", "under", "modelProviderRef")}
    lost = outcome == "invalid"
    status: JsonObject = {"provider": _resolved_provider()}
    if lost:
        pod = pod_facts(phase="Failed", node_lost=True)
        status["agentPod"] = {"name": "run-agent", "uid": _uuid("pod"), "node": "node-1", "facts": pod.as_json()}
    run = make_finished_run("run-1", candidate=own, status=status, network={"modelProviderRef": {"name": "provider"}})
    environment = {"kernel": "Linux 6.1.0", "machine": "x86_64", "cgroup": {"memoryMax": "1073741824"}}
    agent = None if lost else agent_report(environment=environment)
    check = check_result("failed", category=category, tests_failed=["test_it"]) if outcome == "failed" else None
    failed = evaluation_report(verdict="failed", checks=[check]) if check else evaluation_report()
    counters = Counters(
        all_input=1, uncached_input=1, cached_input=0, output=1, total=2,
        reasons={"cache_write": "not_in_wire", "reasoning": "not_reported"},
    )  # fmt: skip
    calls = ModelCalls(
        provider="provider", model=MODEL, calls=[], forwarded=3, answered=3, refused={}, unfinished=[],
        total=Total(3, counters, {}), cost=Cost("1", "", "USD", "prices-2026-01"), answered_models=[MODEL],
    )  # fmt: skip
    return assemble(run, agent, None if lost else failed, (), calls).to_bytes()


def _template(outcome: str, category: str, candidate: str, cohort: BenchmarkCohort) -> bytes:
    return _template_bytes(
        outcome, category if outcome == "failed" else "", candidate, cohort.model_dump_json(by_alias=True)
    )


def _resolved_provider() -> JsonObject:
    spec = _PROVIDER["spec"]
    return {"uid": _PROVIDER["metadata"]["uid"], **{key: spec[key] for key in ("wire", "model", "usage", "pricing")}}


def _counts(ledger: Ledger, scheduled: int) -> dict[str, int]:
    made = {"scheduled": scheduled, "replacements": len(ledger.tickets) - scheduled}
    for entry in ledger.records.values():
        made[entry.outcome] = made.get(entry.outcome, 0) + 1
    return made


class _Clock:
    """Time as runs take it, one after the other."""

    def __init__(self) -> None:
        self._now = BEGIN

    def at(self, seconds: int = 1) -> str:
        """The moment so many seconds later, which is now from then on."""
        self._now += timedelta(seconds=seconds)
        return self._now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _measured(value: Any) -> JsonObject:
    return {"state": "measured", "value": value}


def _decimal(micros: int) -> str:
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


def _put(raw: JsonObject, path: list[str], value: Any) -> None:
    for key in path[:-1]:
        raw = raw[key]
    raw[path[-1]] = value


def _uuid(label: str) -> str:
    text = hashlib.sha256(label.encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:32]}"


def example_report(**changes: Any) -> Report:
    """The report of `example(**changes)`."""
    return compute(load(example(**changes).source()), Made("0.1.0", CANDIDATE_IMAGE, "development"))
