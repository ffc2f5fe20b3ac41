"""When a run may not spend more, and what a usage comes to at least."""

from decimal import Decimal

import pytest
from fairtrial_gateway.models.budgets import AGAIN_SECONDS, Budgets
from fairtrial_gateway.models.parties import Budget, Party, Provider
from fairtrial_gateway.models.routes import budget_of
from fairtrial_gateway.models.spending import (
    Spent,
    over,
    prices_of,
    spent_on,
    time_limit,
    tokens_at_least,
)
from fairtrial_gateway.models.steps import Step

from fairtrial import documents
from fairtrial.api.provider import ModelProviderSpec
from fairtrial.documents import RunIdentity
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.journal import summary
from fairtrial.journal.exchange import Started
from fairtrial.journal.summary import Exchange
from fairtrial.usage.counters import Counters, Usage


def provider(**spec: object) -> Provider:
    raw = {
        "url": "https://api.example.org",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "s", "key": "k"},
        "model": {"id": "m"},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
        "pricing": {
            "snapshot": "s1",
            "currency": "EUR",
            "effectiveDate": "2026-01-01",
            "perMillionTokens": {"input": "2", "output": "10"},
        },
    }
    return Provider("ns", "p", "uid", ModelProviderSpec.model_validate(raw | spec), "credential")


SPENT = {"a": Spent(60, Decimal("0.25")), "b": Spent(40, Decimal("0.25"))}


@pytest.mark.parametrize(
    ("budget", "refusal"),
    [
        (Budget(), None),
        (Budget(calls=3), None),
        (Budget(calls=2), "budget_calls"),
        (Budget(tokens=101), None),
        (Budget(tokens=100), "budget_tokens"),
        (Budget(cost=Decimal("0.51")), None),
        (Budget(cost=Decimal("0.5")), "budget_cost"),
        (Budget(calls=2, tokens=1, cost=Decimal(0)), "budget_calls"),
    ],
)
def test_a_budget_is_used_up_when_nothing_is_left_of_it(budget, refusal):
    found = over(budget, SPENT, provider())

    assert (found and found.refusal) == refusal
    assert found is None or "budget_exhausted" in found.message


BY_STEP = {
    "a": Spent(60, Decimal("0.25"), "one"),
    "b": Spent(40, Decimal("0.25"), "two"),
    "c": Spent(9, Decimal(0)),  # before the first step
}


@pytest.mark.parametrize(
    ("each", "step", "refusal"),
    [
        (Budget(calls=1), "one", "budget_step_calls"),
        (Budget(calls=2), "one", None),
        (Budget(calls=1), "three", None),
        (Budget(tokens=60), "one", "budget_step_tokens"),
        (Budget(tokens=60), "two", None),
        (Budget(cost=Decimal("0.25")), "two", "budget_step_cost"),
        (Budget(cost=Decimal("0.25")), "three", None),
    ],
)
def test_a_steps_budget_counts_the_steps_own_calls(each, step, refusal):
    found = over(Budget(per_step=each), BY_STEP, provider(), step)

    assert (found and found.refusal) == refusal
    assert found is None or f"step {step}" in found.message


def test_the_runs_own_budget_is_named_where_both_are_used_up():
    assert over(Budget(calls=3, per_step=Budget(calls=1)), BY_STEP, provider(), "one").refusal == "budget_calls"


@pytest.mark.parametrize(
    ("whole", "earlier_ms", "at", "refusal"),
    [
        (None, 0, 1060, "budget_step_wall"),
        (60, 0, 1060, "budget_wall"),  # both at once
        (100, 0, 1060, "budget_step_wall"),
        (100, 50_000, 1050, "budget_wall"),
    ],
)
def test_the_time_that_is_over_first_is_named(whole, earlier_ms, at, refusal):
    limit = time_limit(Budget(wall_seconds=whole), Step(2, "two", 1000.0, 60, earlier_ms))

    assert (limit.at, limit.over.refusal) == (at, refusal)
    assert "budget_exhausted" in limit.over.message


def test_no_time_runs_before_the_first_step():
    assert time_limit(Budget(wall_seconds=1), None) is None


def test_money_without_prices_is_refused_rather_than_guessed():
    assert over(Budget(cost=Decimal(9)), {}, provider(pricing=None)).refusal == "budget_cost"


@pytest.mark.parametrize(
    ("counters", "tokens"),
    [
        (Counters(), 0),
        (Counters(all_input=10, output=5), 15),
        (Counters(uncached_input=3, cached_input=4, cache_write=5, output=1), 13),
        (Counters(all_input=12, uncached_input=3, cached_input=4, cache_write=5), 12),
        (Counters(output=5, reasoning=3), 5),
        (Counters(output=5, reasoning=3, reasoning_inside_output=False), 8),
        (Counters(total=20, output=5), 20),
    ],
)
def test_tokens_are_counted_once_and_as_far_as_they_are_known(counters, tokens):
    assert tokens_at_least(counters) == tokens


def test_a_part_of_a_usage_has_its_price_all_the_same():
    usage = Usage("incomplete", "cut", Counters(all_input=500_000, uncached_input=500_000))

    assert spent_on(usage, prices_of(provider())) == Spent(500_000, Decimal(1))
    assert spent_on(usage, None) == Spent(500_000, Decimal(0))


def test_a_runs_limits_become_its_budget():
    assert budget_of({"modelCalls": 3, "modelTokens": 5, "modelCost": "0.10"}) == Budget(3, 5, Decimal("0.10"))
    assert budget_of({"wallSeconds": 3}) == Budget(wall_seconds=3)
    assert not budget_of({"wallSeconds": 3}).limited
    each = budget_of({"perStep": {"modelTokens": 5, "wallSeconds": 2}})
    assert each == Budget(per_step=Budget(tokens=5, wall_seconds=2))
    assert each.limited and each.counts_usage
    assert not budget_of({"perStep": {"wallSeconds": 2}}).limited


def test_a_credential_is_never_shown():
    assert "credential" not in repr(provider()).replace("credential_secret_ref", "")


# --- what others have spent -------------------------------------------------------------------------------------------
RUN = RunIdentity("ns", "r", "u")
KEYS = Layout().run("ns", "r", "u")


class Store(MemoryStore):
    reads = 0

    def keys(self, prefix: str) -> list[str]:
        self.reads += 1
        return super().keys(prefix)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def page_of(exchange: str, tokens: int) -> bytes:
    usage = Usage("complete", "", Counters(all_input=tokens, output=0))
    return summary.dump(Exchange(exchange, RUN, "p", "openaiChat", "/", "2026", "complete", usage=usage))


async def test_what_another_replica_had_begun_is_counted_when_it_has_ended():
    store, clock = Store(), Clock()
    budgets, party = Budgets(store, Layout(), clock), Party(RUN, provider(), budget=Budget(tokens=100))
    other = "0000000000001-00000000"
    store.put(KEYS.exchange(other, "started.json"), b"{}")

    assert (await budgets.ledger(party)).spent == {other: Spent()}
    store.put(KEYS.exchange(other, "exchange.json"), page_of(other, 100))
    clock.now += AGAIN_SECONDS
    ledger = await budgets.ledger(party)

    assert {name: each.tokens for name, each in ledger.spent.items()} == {other: 100}
    reads = store.reads
    await budgets.ledger(party)
    clock.now += AGAIN_SECONDS
    await budgets.ledger(party)
    assert store.reads == reads  # nothing is open any more
    budgets.close()


async def test_what_began_elsewhere_counts_for_the_step_that_it_was_in():
    store = MemoryStore()
    budgets, party = Budgets(store, Layout()), Party(RUN, provider(), budget=Budget(per_step=Budget(calls=1)))
    begun, ended = "0000000000001-00000000", "0000000000002-00000000"
    started = Started(begun, RUN, "p", "openaiChat", "/", "2026", step="one")
    store.put(KEYS.exchange(begun, "started.json"), documents.dump(started))
    page = Exchange(ended, RUN, "p", "openaiChat", "/", "2026", "complete", step="two")
    store.put(KEYS.exchange(ended, "exchange.json"), summary.dump(page))

    ledger = await budgets.ledger(party)

    assert {name: each.step for name, each in ledger.spent.items()} == {begun: "one", ended: "two"}
    budgets.close()


async def test_a_call_of_ours_that_waits_while_the_store_is_read_is_none_if_it_is_refused():
    store = MemoryStore()
    budgets, party = Budgets(store, Layout()), Party(RUN, provider(), budget=Budget(calls=1))
    ours = "0000000000001-00000000"
    store.put(KEYS.exchange(ours, "started.json"), b"{}")
    ledger = await budgets.ledger(party)
    page = Exchange(ours, RUN, "p", "openaiChat", "/", "2026", "refused")

    ledger.enter(page, None)

    assert (ledger.spent, ledger.refused) == ({}, {ours})
    budgets.close()
