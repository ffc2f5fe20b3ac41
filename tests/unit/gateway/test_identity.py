"""From a token to a pod: what a review says, how long it holds, and how often it is asked for."""

import asyncio
import base64
import json

from fairtrial_gateway.identity import Once, caller_from_review, seconds_left
from fairtrial_gateway.policy import Caller, Refusal

POD = {"authentication.kubernetes.io/pod-name": ["r1-agent"], "authentication.kubernetes.io/pod-uid": ["u1"]}
USER = {"username": "system:serviceaccount:team:fairtrial-run", "extra": POD}


def review(**changes):
    return {"authenticated": True, "user": USER, "audiences": ["fairtrial/record"]} | changes


def test_a_reviewed_pod_token_names_its_pod():
    assert caller_from_review(review()) == Caller(
        "team", "fairtrial-run", "r1-agent", "u1", frozenset(["fairtrial/record"])
    )


def test_audiences_that_are_not_ours_are_worth_nothing():
    caller = caller_from_review(review(audiences=["fairtrial/record", "https://kubernetes.default.svc"]))

    assert isinstance(caller, Caller)
    assert caller.audiences == {"fairtrial/record"}


def test_everything_that_is_no_pod_is_refused():
    for changes, status in (
        ({"authenticated": False}, 401),
        ({"user": USER | {"extra": {}}}, 403),
        ({"user": USER | {"username": "admin"}}, 403),
        ({"user": USER | {"extra": POD | {"authentication.kubernetes.io/pod-uid": ["u1", "u2"]}}}, 403),
        ({"user": None}, 403),
    ):
        found = caller_from_review(review(**changes))
        assert isinstance(found, Refusal)
        assert found.status == status


def test_a_token_is_trusted_no_longer_than_it_says():
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1100}).encode()).decode().rstrip("=")

    assert seconds_left(f"a.{claims}.c", now=1000) == 100
    assert seconds_left("a.bm90IGpzb24.c", now=1000) == 0
    assert seconds_left("a.b.c", now=1000) == 0


async def test_a_question_is_asked_once_at_a_time_and_its_answer_kept():
    now, asked = [0.0], []
    once: Once[str, int] = Once(clock=lambda: now[0])

    async def make() -> tuple[int, float]:
        asked.append(1)
        await asyncio.sleep(0.01)
        return len(asked), 10.0

    assert await asyncio.gather(*(once.get("k", make) for _ in range(20))) == [1] * 20
    assert await once.get("k", make) == 1
    now[0] = 10.0
    assert await once.get("k", make) == 2


async def test_an_answer_is_made_again_before_it_is_too_old_and_nobody_waits_for_that():
    now, asked, answers = [0.0], [], {1: 1, 3: 3}
    once: Once[str, int] = Once(clock=lambda: now[0])

    async def make() -> tuple[int, float]:
        asked.append(1)
        await asyncio.sleep(0)
        return answers[len(asked)], 10.0  # the second time it fails

    async def get_at(second: float) -> int:
        now[0] = second
        found = await once.get("k", make)
        for _ in range(5):
            await asyncio.sleep(0)  # what was begun meanwhile
        return found

    assert [await get_at(0.0), await get_at(7.0), len(asked)] == [1, 1, 1]
    assert [await get_at(8.0), len(asked)] == [1, 2]
    assert [await get_at(9.0), await get_at(10.5), len(asked)] == [1, 3, 3]


async def test_an_answer_that_is_kept_for_no_time_is_asked_for_again():
    asked = []
    once: Once[str, int] = Once()

    async def make() -> tuple[int, float]:
        asked.append(1)
        return len(asked), 0

    assert [await once.get("k", make), await once.get("k", make)] == [1, 2]


async def test_a_failed_question_is_not_remembered_and_a_leaver_takes_nothing_away():
    once: Once[str, int] = Once()
    release = asyncio.Event()

    async def fail() -> tuple[int, float]:
        raise ValueError

    async def slow() -> tuple[int, float]:
        await release.wait()
        return 7, 10.0

    assert isinstance((await asyncio.gather(once.get("k", fail), return_exceptions=True))[0], ValueError)
    leaver, stayer = asyncio.create_task(once.get("k", slow)), asyncio.create_task(once.get("k", slow))
    await asyncio.sleep(0)
    leaver.cancel()
    release.set()
    assert await stayer == 7
