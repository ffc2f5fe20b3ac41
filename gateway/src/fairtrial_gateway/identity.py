"""Who is calling: a bearer token becomes a pod, and the pod's name a run, both as the API server says.

Who a token is of is kept for a moment; a run is read each time, since its pods and its end must be seen at once. Both
are asked for once at a time, so that a burst of uploads is not a burst on the API server.
"""

import asyncio
import base64
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from fairtrial_gateway.kubernetes import KubernetesApi
from fairtrial_gateway.policy import AUDIENCES, Caller, Refusal, Run, run_from_object

K = TypeVar("K")
V = TypeVar("V")
TOKEN_MAX = 8192
UNKNOWN_TTL = 5.0  # a token that was refused once is refused for this long without asking
CACHE_ENTRIES = 10_000
AHEAD = 0.75  # of its time an answer is made again, while it is still given: nobody who calls often waits for the API
_EXTRA = "authentication.kubernetes.io/"
_SERVICE_ACCOUNT = "system:serviceaccount:"


class Once(Generic[K, V]):
    """Answers by key, each kept for as long as its maker says, and made once at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[K, tuple[float, float, V]] = OrderedDict()  # made again from then, good until then
        self._making: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, make: Callable[[], Awaitable[tuple[V, float]]]) -> V:
        """The answer for `key`: kept, on its way already, or made now by `make`, which also says for how long."""
        kept, now = self._kept.get(key), self._clock()
        fresh = kept is not None and now < kept[0]
        if not fresh and key not in self._making:
            self._making[key] = asyncio.create_task(self._make(key, make))
            self._making[key].add_done_callback(_seen)
        if kept and now < kept[1]:
            return kept[2]
        return await asyncio.shield(self._making[key])  # a caller that goes away takes nothing from the others

    async def _make(self, key: K, make: Callable[[], Awaitable[tuple[V, float]]]) -> V:
        try:
            value, seconds = await make()
        finally:
            del self._making[key]
        self._kept.pop(key, None)
        if seconds > 0:
            now = self._clock()
            self._kept[key] = (now + AHEAD * seconds, now + seconds, value)
        while len(self._kept) > CACHE_ENTRIES:
            self._kept.popitem(last=False)
        return value


def _seen(task: "asyncio.Task[object]") -> None:
    """Whoever waits is told of a failure; where nobody waits the next caller asks again."""
    if not task.cancelled():
        task.exception()


class Identity:
    """Callers and runs, as the API server knows them."""

    def __init__(self, api: KubernetesApi, ttl: float, reviews: int = 10) -> None:
        self._api, self._ttl = api, ttl
        self._callers: Once[bytes, Caller | Refusal] = Once()
        self._runs: Once[tuple[str, str], Run | Refusal] = Once()
        self._recent: Once[tuple[str, str], Run | Refusal] = Once()
        self._reviews = asyncio.Semaphore(reviews)  # made-up tokens cannot flood the API server

    async def caller(self, token: str) -> Caller | Refusal:
        """The pod that a token is of. Kept by the token's hash, never longer than the token is good."""
        if len(token) > TOKEN_MAX or token.count(".") != 2:  # noqa: PLR2004 — header, claims, signature
            return _unknown("The bearer token is no service account token.")

        async def review() -> tuple[Caller | Refusal, float]:
            async with self._reviews:
                status = await self._api.review_token(token, AUDIENCES)
            found = caller_from_review(status)
            if isinstance(found, Refusal):
                return found, UNKNOWN_TTL
            return found, min(self._ttl, seconds_left(token, time.time()))

        return await self._callers.get(hashlib.sha256(token.encode()).digest(), review)

    async def run(self, namespace: str, name: str) -> Run | Refusal:
        """A run as it is now. Asked for once at a time and never kept: its end and its pods must be seen at once."""

        async def read() -> tuple[Run | Refusal, float]:
            raw = await self._api.benchmark_run(namespace, name)
            if raw is None:
                return Refusal(403, "NoSuchRun", f"There is no run {name} in namespace {namespace}."), 0
            return run_from_object(raw), 0

        return await self._runs.get((namespace, name), read)

    async def recent_run(self, namespace: str, name: str, seconds: float) -> Run | Refusal:
        """A run as it was a moment ago at most: for model calls, each of which would otherwise wait for the API."""

        async def read() -> tuple[Run | Refusal, float]:
            found = await self.run(namespace, name)
            known = isinstance(found, Run) and found.agent_pod_uid is not None
            return found, seconds if known else 0

        return await self._recent.get((namespace, name), read)

    async def check(self) -> None:
        """Fail, saying why, if the API server would not review tokens for us."""
        await self._api.review_token("a.b.c", AUDIENCES)


def caller_from_review(status: dict[str, Any]) -> Caller | Refusal:
    """What a TokenReview's status says. Only tokens that are bound to a pod name a caller."""
    if not status.get("authenticated"):
        return _unknown("The bearer token is expired, foreign, or its pod is gone.")
    user = status.get("user") or {}
    extra = user.get("extra") or {}
    account = str(user.get("username", ""))
    pod_name, pod_uid = _only(extra, "pod-name"), _only(extra, "pod-uid")
    if not account.startswith(_SERVICE_ACCOUNT) or not pod_name or not pod_uid:
        return Refusal(403, "NotAPod", "The bearer token is not bound to a pod.")
    namespace, _, name = account.removeprefix(_SERVICE_ACCOUNT).partition(":")
    audiences = frozenset(status.get("audiences") or ()) & frozenset(AUDIENCES)
    return Caller(namespace, name, pod_name, pod_uid, audiences)


def seconds_left(token: str, now: float) -> float:
    """How long a token that was found good stays good, by its own claim; 0 if it does not say."""
    try:
        claims = token.split(".")[1]
        expires = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"]
        return float(expires) - now
    except (ValueError, KeyError, TypeError, IndexError):
        return 0.0


def _only(extra: dict[str, Any], name: str) -> str:
    values = extra.get(_EXTRA + name) or []
    return str(values[0]) if len(values) == 1 else ""


def _unknown(message: str) -> Refusal:
    return Refusal(401, "Unauthenticated", message)
