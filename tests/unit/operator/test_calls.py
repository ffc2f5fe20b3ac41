"""A run's model calls: waited for, listed once, and taken into the record."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_operator.collect import collect, exchanges
from fairtrial_operator.decide import decide
from fairtrial_operator.decide_record import CALLS_PATIENCE_SECONDS
from fairtrial_operator.seen import CollectCalls, Report, Stored, StoreRecord

from fairtrial.api import ModelProvider, ResolvedProvider, parse
from fairtrial.documents import Artifact, RunIdentity, dump
from fairtrial.errors import StoreError
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.record import load_record
from fairtrial.journal import summary
from fairtrial.journal.summary import Exchange
from fairtrial.secrets.stored import AGENT, ArtifactScan, StoredLeak
from fairtrial.testing import make_finished_run, make_run
from fairtrial.usage.calls import ARTIFACT
from fairtrial.usage.counters import Counters, Usage

KEYS = Layout().run("trials", "run-1", "uid")
COUNTS = {"all_input": 100, "uncached_input": 60, "cached_input": 40, "cache_write": 0, "output": 10, "total": 110}
PROVIDER = parse(
    ModelProvider,
    {
        "apiVersion": "fairtrial.dev/v1alpha1",
        "kind": "ModelProvider",
        "metadata": {"name": "p", "uid": "p-uid"},
        "spec": {
            "url": "https://models.example",
            "wire": "openaiChat",
            "credentialSecretRef": {"name": "key", "key": "token"},
            "model": {"id": "model-1"},
            "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
            "pricing": {
                "snapshot": "2026-01",
                "currency": "USD",
                "effectiveDate": "2026-01-01",
                "perMillionTokens": {"input": "1", "cachedInput": "0.1", "cacheWrite": "1", "output": "2"},
            },
        },
    },
)
RUN = make_finished_run(
    network={"modelProviderRef": {"name": "p"}}, status={"provider": ResolvedProvider.of(PROVIDER).as_json()}
)


def name(number: int) -> str:
    return f"{1767268800000 + number}-0000000a"


def page(number: int, **changes: Any) -> bytes:
    usage = Usage("complete", "", Counters(**COUNTS, reasoning=4))
    made = Exchange(
        exchange=name(number),
        run=RunIdentity("trials", "run-1", "uid"),
        provider="p",
        wire="openaiChat",
        path="/v1/chat/completions",
        started_at="2026-01-01T12:00:00.000Z",
        ending="complete",
        status=200,
        answered_model="model-1",
        first_usable=True,
        leak_scan="done",
        usage=usage,
    )
    return summary.dump(replace(made, **changes))


def stored(*pages: bytes, started: int = 0) -> MemoryStore:
    store = MemoryStore()
    for number, data in enumerate(pages):
        store.put(KEYS.exchange(name(number), "exchange.json"), data)
    for number in range(started):
        store.put(KEYS.exchange(name(number), "started.json"), b"{}")
    return store


def test_calls_are_summed_and_priced_and_the_list_is_stored() -> None:
    store = stored(page(0), page(1), started=2)

    found = collect(store, KEYS, RUN, final=False)

    assert found.calls is not None
    assert found.calls.total.counters.all_input == 200
    assert found.calls.cost.amount == "0.000168"  # two times (60 + 40/10 + 10*2) / 10**6
    assert found.artifact is not None
    assert store.get(KEYS.artifact(ARTIFACT))
    assert collect(store, KEYS, RUN, final=True) == found, "made again, it is the same to the byte"


def test_the_list_names_size_and_digest_of_every_file_of_a_call() -> None:
    data = page(0, journal=summary.JournalFile(700, "5" * 64))

    found = collect(stored(data), KEYS, RUN, final=False).calls

    assert found is not None
    [call] = found.calls
    assert (call.page_size, call.page_sha256) == (len(data), sha256(data))
    assert (call.journal_size, call.journal_sha256) == (700, "5" * 64)


def test_calls_of_tools_are_listed_and_cost_no_tokens() -> None:
    store = stored(page(0))
    usage = Usage("not_applicable", "tool")
    store.put(KEYS.exchange(name(5), "exchange.json", tool=True), page(5, kind="tool", wire="tool", usage=usage))

    found = collect(store, KEYS, RUN, final=False).calls

    assert found is not None
    assert [call.kind for call in found.calls] == ["generate", "tool"]
    assert (found.forwarded, found.total.counters.output, found.cost.amount) == (1, 10, "0.000084")


def test_a_call_without_a_page_is_waited_for_and_then_named() -> None:
    store = stored(page(0), started=2)

    assert collect(store, KEYS, RUN, final=False).state == "incomplete"
    found = collect(store, KEYS, RUN, final=True)

    assert found.calls is not None
    assert found.calls.unfinished == [name(1)]


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", page(0)[:-1], page(0).replace(b'"complete"', b'"other"', 1)])
def test_a_page_that_cannot_be_read_is_a_call_whose_end_nobody_knows(data: bytes) -> None:
    found = collect(stored(data), KEYS, RUN, final=True)

    assert found.calls is not None
    assert found.calls.unfinished == [name(0)]


def test_a_run_keeps_model_and_prices_as_they_were_when_it_was_accepted(at: Any) -> None:
    """A provider that is made again, dearer, changes no cost of a run that was there before it."""
    network = {"modelProviderRef": {"name": "p"}}
    pending = at.pod(phase="Pending", scheduled=False, fetch=None, record=None, main=None)
    run = at.after(make_run(network=network), at.seen(references=replace(at.FOUND, provider=PROVIDER), agent=pending))

    assert run.status.provider == ResolvedProvider.of(PROVIDER)
    assert run.status.provider.pricing.snapshot == "2026-01"
    found = collect(stored(page(0)), KEYS, run, final=True).calls
    assert found is not None and (found.cost.amount, found.cost.snapshot) == ("0.000084", "2026-01")


def test_a_store_that_is_down_loses_nothing() -> None:
    class Down(MemoryStore):
        def keys(self, prefix: str) -> list[str]:
            raise StoreError("down")

    assert collect(Down(), KEYS, RUN, final=True).state == "unavailable"


def test_exchanges_are_told_apart_by_whether_they_have_a_page() -> None:
    keys = ["x/a/started.json", "x/a/exchange.ftj", "x/a/exchange.json", "x/b/started.json", "x/c/exchange.ftj"]
    assert exchanges(keys, "x/") == (["a"], ["b", "c"])


# --- deciding ---------------------------------------------------------------------------------------------------------
def decided(at: Any, seconds: float = 1, **calls: Any) -> Any:
    done = at.evaluated()
    status = done.status.model_copy(update={"provider": RUN.status.provider})
    run = done.model_copy(update={"spec": RUN.spec, "status": status})
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED, model_calls=Report(**calls))
    assert run.status.timestamps.evaluated is not None
    return decide(run, observed, at.when(run.status.timestamps.evaluated) + timedelta(seconds=seconds))


def test_calls_are_listed_before_the_record_is_made(at: Any) -> None:
    assert decided(at, state="absent").action == CollectCalls(final=False)


def test_an_answer_that_is_still_read_is_waited_for_so_long_and_no_longer(at: Any) -> None:
    """An agent that fails could otherwise begin a long call, end, and have its run made invalid."""
    gateway = ModelSettings()
    reads_on = gateway.queue_seconds + gateway.drain_seconds
    assert decided(at, state="incomplete").again_after == 2
    assert decided(at, seconds=reads_on + 30, state="incomplete").again_after == 2
    assert decided(at, seconds=CALLS_PATIENCE_SECONDS + 1, state="incomplete").action == CollectCalls(final=True)
    assert decided(at, seconds=reads_on + 30, state="absent").action == CollectCalls(final=False)


def test_a_store_that_is_down_is_waited_for(at: Any) -> None:
    decision = decided(at, state="unavailable", message="down")
    assert not isinstance(decision.action, StoreRecord | CollectCalls)


def test_the_record_takes_usage_and_cost_from_the_list(at: Any) -> None:
    found = collect(stored(page(0)), KEYS, RUN, final=True)
    decision = decided(at, state="present", calls=found.calls, artifact=found.artifact)

    assert isinstance(decision.action, StoreRecord)
    usage = load_record(decision.action.data).usage
    assert (usage.output_tokens.value, usage.model_calls.value, usage.cost.value) == (10, 1, "0.000084")
    assert usage.calls == found.artifact


# --- what the pods' artifacts were searched for -----------------------------------------------------------------------
SCAN = ArtifactScan(RunIdentity("trials", "run-1", "uid"), "done", leaks=[StoredLeak("c", "plain", "agent/a.txt", 9)])


def scanned(state: Any = "present") -> Report:
    data = dump(SCAN)
    artifact = Artifact(AGENT, len(data), sha256(data))
    return Report(state, scan=SCAN, artifact=artifact) if state == "present" else Report(state, message="why")


def recording(at: Any, scan: Report, **seen: Any) -> Any:
    run = at.evaluated()
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED, agent_scan=scan, **seen)
    return decide(run, observed, at.when(run.status.timestamps.evaluated))


def test_a_secret_that_was_found_is_in_the_record_and_is_told(at: Any) -> None:
    decision = recording(at, scanned())
    assert isinstance(decision.action, StoreRecord)
    record = load_record(decision.action.data)
    assert AGENT in {artifact.name for artifact in record.artifacts}
    assert record.usage.leaks.value == 1

    kept = Stored("s3://bucket/record.json", "0" * 64)
    told = recording(at, scanned(), stored=kept).event

    assert told is not None and told.reason == "SecretFound"
    assert "artifacts/scan" in told.message
    assert recording(at, Report("absent"), stored=kept).event is None


@pytest.mark.parametrize("state", ["unavailable", "malformed"])
def test_no_record_is_made_without_a_scan_that_is_there(at: Any, state: str) -> None:
    assert not isinstance(recording(at, scanned(state)).action, StoreRecord)
