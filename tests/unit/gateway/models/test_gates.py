"""Waiting for a turn: served in order, refused when it takes too long, and nobody's going away loses a turn."""

import asyncio

import pytest
from fairtrial_gateway.models.gates import Gate, TooBusy, share
from fairtrial_gateway.models.parties import Provider
from fairtrial_gateway.models.proxy import Proxy
from fairtrial_gateway.models.settings import ModelSettings

from fairtrial.api.provider import ModelProviderSpec


def gate(concurrency=1, per_minute=1000, wait=5.0, line=100) -> Gate:
    made = Gate(per_run=10, longest_wait=wait, longest_line=line)
    made.resize(concurrency, per_minute)
    return made


def provider(name: str) -> Provider:
    spec = {
        "url": "https://api.example.org",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "s", "key": "k"},
        "model": {"id": "m"},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
    }
    return Provider("ns", name, "uid", ModelProviderSpec.model_validate(spec), "credential")


async def holding(gate: Gate, run: str, order: list[str], release: asyncio.Event) -> None:
    async with gate.turn(run):
        order.append(run)
        await release.wait()


async def test_a_turn_is_given_back():
    made = gate()
    for _ in range(3):
        async with made.turn("a"):
            assert not made.idle
    assert made.idle


async def test_whoever_waits_too_long_is_told_to_come_back():
    made, release = gate(wait=0.05), asyncio.Event()
    held = asyncio.create_task(holding(made, "a", [], release))
    await asyncio.sleep(0)

    with pytest.raises(TooBusy) as refused:
        async with made.turn("b"):
            pass

    assert refused.value.retry_after == 1
    release.set()
    await held
    assert made.idle


async def test_a_rate_that_opens_too_late_refuses_at_once_and_says_when():
    made = gate(concurrency=10, per_minute=1, wait=30)
    async with made.turn("a"):
        with pytest.raises(TooBusy) as refused:
            async with made.turn("a"):
                pass
    assert refused.value.retry_after == 60


async def test_a_line_that_is_full_refuses():
    made, release, order = gate(line=1), asyncio.Event(), []
    tasks = [asyncio.create_task(holding(made, run, order, release)) for run in "ab"]
    await asyncio.sleep(0)

    with pytest.raises(TooBusy):
        async with made.turn("c"):
            pass

    release.set()
    await asyncio.gather(*tasks)


async def test_whoever_goes_away_while_waiting_takes_no_turn():
    made, release, order = gate(), asyncio.Event(), []
    tasks = [asyncio.create_task(holding(made, run, order, release)) for run in "abc"]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert order == ["a", "c"]
    assert made.idle


async def test_whoever_goes_away_in_the_moment_of_being_served_gives_the_turn_on():
    made, order = gate(), []
    other = asyncio.Event()
    other.set()
    async with made.turn("a"):
        gone = asyncio.create_task(holding(made, "b", order, other))
        last = asyncio.create_task(holding(made, "c", order, other))
        await asyncio.sleep(0)
    gone.cancel()  # it was served just now, and has not run since
    await asyncio.gather(gone, last, return_exceptions=True)

    assert order == ["c"]
    assert made.idle


async def test_a_line_that_one_run_has_filled_is_open_to_the_others():
    made, release, order = gate(line=3), asyncio.Event(), []
    tasks = [asyncio.create_task(holding(made, "crowd", order, release)) for _ in range(9)]
    await asyncio.sleep(0)
    assert sum(task.done() for task in tasks) == 5  # one is served, three wait

    alone = asyncio.create_task(holding(made, "alone", order, release))
    release.set()
    await asyncio.gather(*tasks, alone, return_exceptions=True)

    assert order == ["crowd", "crowd", "alone", "crowd", "crowd"]


async def test_a_provider_whose_minute_is_not_over_is_not_forgotten():
    proxy = Proxy(ModelSettings(), *[None] * 4)  # type: ignore[arg-type]
    used = proxy._gate(provider("used"))
    async with used.turn("a"):
        pass
    proxy._gate(provider("another"))

    assert proxy._gate(provider("used")) is used


async def test_a_turn_that_comes_to_whoever_has_just_gone_away_goes_on():
    made, order = gate(), []
    other = asyncio.Event()
    other.set()
    async with made.turn("a"):
        gone = asyncio.create_task(holding(made, "b", order, other))
        last = asyncio.create_task(holding(made, "c", order, other))
        await asyncio.sleep(0)
        gone.cancel()  # and before it runs, its turn comes
    await asyncio.gather(gone, last, return_exceptions=True)

    assert order == ["c"]
    assert made.idle


@pytest.mark.parametrize(("cap", "replicas", "expected"), [(16, 2, 8), (5, 2, 2), (1, 3, 1), (7, 0, 7)])
def test_a_replica_takes_its_share_and_never_none(cap, replicas, expected):
    assert share(cap, replicas) == expected
