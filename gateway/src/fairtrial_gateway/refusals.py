"""Refusals that no run's journal can hold: who called is not known, or has no business with the run that it names.

They lie beside all runs, since whoever has no proven identity must not be able to write into a run's evidence. Kinds of
refusals are counted per caller over a minute; a flood makes one object a minute, of bounded size.
"""

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from fairtrial import documents
from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import StoredObject
from fairtrial.journal.refusals import RefusalPage, RefusedCalls
from fairtrial_gateway.logs import say
from fairtrial_gateway.metrics import Metrics

PERIOD = 60.0
REMARKABLE = frozenset({401, 403, 413})  # statuses that nobody gets who is what it should be
LISTED = 200  # kinds and callers of one object; the rest is counted by cause


@dataclass(frozen=True)
class Who:
    """What is proven of a caller: nothing, its pod, or also the run that the pod is of."""

    namespace: str = ""
    pod: str = ""
    pod_uid: str = ""
    run: str = ""


NOBODY = Who()


class Sink(Protocol):
    """What of a store is needed here."""

    def put(self, key: str, data: bytes, *, media_type: str = ...) -> StoredObject:
        """Create an object, or adopt an equal one."""


class RefusalLog:
    """Counts, and stores now and then what was counted."""

    def __init__(
        self, store: Sink, layout: Layout, gateway: str, metrics: Metrics, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._layout, self._metrics, self._clock = store, layout, metrics, clock
        self._gateway = segment(gateway)
        self._begin()

    def note(self, cause: str, status: int, peer: str, who: Who = NOBODY) -> None:
        """Something was refused. `cause` and `status` are ours."""
        cause = word(cause)
        self._metrics.refused.labels(cause).inc()
        now, key = written(self._clock()), (cause, peer, who)
        if found := self._kinds.get(key):
            self._kinds[key] = replace(found, count=found.count + 1, last=now)
        elif len(self._kinds) < LISTED:
            say("refused", logging.WARNING, cause=cause, status=status, peer=peer, namespace=who.namespace, pod=who.pod)
            self._kinds[key] = RefusedCalls(
                cause, status, peer, who.namespace, who.pod, who.pod_uid, who.run, count=1, first=now, last=now
            )
        else:
            self._not_listed[cause] += 1

    async def run(self) -> None:
        """Store for ever, once a minute where there is something."""
        while True:
            await asyncio.sleep(PERIOD)
            await self.flush()

    async def flush(self) -> None:
        """Store what was counted; what the store does not take is kept, and counted on."""
        if not self._kinds and not self._not_listed:
            return
        now = self._clock()
        page = RefusalPage(
            self._gateway,
            written(self._since),
            written(now),
            sorted(self._kinds.values(), key=lambda each: (each.first, each.cause, each.peer)),
            dict(sorted(self._not_listed.items())),
        )
        kinds, others, since = self._kinds, self._not_listed, self._since
        self._begin()
        key = self._layout.refusals(self._gateway, int(now * 1000))
        try:
            await asyncio.to_thread(self._store.put, key, documents.dump(page), media_type="application/json")
        except FairtrialError as error:
            say("refusals not stored", logging.WARNING, reason=error.reason, message=str(error))
            self._merge(kinds, others, since)

    def _begin(self) -> None:
        self._kinds: dict[tuple[str, str, Who], RefusedCalls] = {}
        self._not_listed: Counter[str] = Counter()
        self._since = self._clock()

    def _merge(self, kinds: dict[tuple[str, str, Who], RefusedCalls], others: Counter[str], since: float) -> None:
        """Put back what was not stored, before what came meanwhile."""
        came, self._kinds, self._since = self._kinds, kinds, since
        self._not_listed += others
        for key, each in came.items():
            if found := self._kinds.get(key):
                self._kinds[key] = replace(found, count=found.count + each.count, last=each.last)
            elif len(self._kinds) < LISTED:
                self._kinds[key] = each
            else:
                self._not_listed[each.cause] += each.count


def word(reason: str) -> str:
    """A reason as journals have it: WrongAudience is wrong_audience. Pure."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", reason).lower()


def segment(name: str) -> str:
    """A gateway's name as a part of a key. Pure."""
    return re.sub(r"[^a-z0-9.-]", "-", name.lower()).strip("-.")[:100] or "gateway"


def written(seconds: float) -> str:
    """A time as documents have it. Pure."""
    return documents.written(datetime.fromtimestamp(seconds, UTC))
