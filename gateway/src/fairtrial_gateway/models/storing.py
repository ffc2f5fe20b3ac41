"""Storing one exchange: what blocks, and works. Called in threads, or in a process of its own by `storing_process`.

Every write is create-only and made from the journal's own bytes, so a repetition after a crash makes the same objects.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairtrial import documents
from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import MIB, StoredObject, Upload
from fairtrial.journal import summary
from fairtrial.journal.exchange import TOOL, Started
from fairtrial.journal.frames import Kind, frame_head
from fairtrial.journal.summary import Exchange, Scan
from fairtrial_gateway.models import reading

STARTED, JOURNAL, PAGE = "started.json", "exchange.ftj", "exchange.json"
JSON = "application/json"


class Sink(Protocol):
    """What of a store is needed here."""

    def put(self, key: str, data: bytes, *, media_type: str = ...) -> StoredObject:
        """Create an object, or adopt an equal one."""

    def open_upload(self, key: str, *, media_type: str = ..., sha256: str | None = None) -> Upload:
        """Begin an object of any size."""


@dataclass(frozen=True)
class Ended:
    """An exchange that is over. No secrets to look for in its journal: they could not be read.

    Without `started` or `page` the journal has it, whole.
    """

    path: Path
    secrets: Mapping[str, bytes] | None = field(repr=False)
    started: Started | None = None
    page: Exchange | None = None


class Unfinished(FairtrialError):
    """A journal lacks what whoever handed it over says that it has."""

    reason = "Unfinished"


@dataclass(frozen=True)
class Storing:
    """Stores exchanges in one sink."""

    sink: Sink
    layout: Layout

    def started(self, started: Started) -> None:
        """Tell that an exchange has begun."""
        self.sink.put(self._key(started, STARTED), documents.dump(started), media_type=JSON)

    def ended(self, ended: Ended) -> int:
        """Finish the journal and store it, then its page; how many leaks were found in it."""
        started, page, scan = _finished(ended)
        upload = self.sink.open_upload(self._key(started, JOURNAL))
        try:
            with ended.path.open("rb") as file:
                while chunk := file.read(MIB):
                    upload.write(chunk)
            stored = upload.commit()
        except BaseException:
            upload.abort()
            raise
        whole = page.scanned(scan).with_journal(stored.size, stored.sha256)
        self.sink.put(self._key(started, PAGE), summary.dump(whole), media_type=JSON)
        return len(scan.leaks)

    def _key(self, started: Started, file: str) -> str:
        run = started.run
        return self.layout.run(run.namespace, run.name, run.uid, started.cohort).exchange(
            started.exchange, file, tool=started.wire == TOOL
        )


def _finished(ended: Ended) -> tuple[Started, Exchange, Scan]:
    """Read the journal once more and append what its end lacks; what was written before a restart stays."""
    scanning = reading.Scanning(ended.secrets)
    facts, stop = reading.told(ended.path, scanning.take)
    started, page = facts.started or ended.started, facts.page or ended.page
    if started is None or page is None:
        raise Unfinished(f"The journal {ended.path.name} does not say which exchange it is of, or how that ended.")
    if facts.page and facts.scan:
        return started, page, facts.scan
    scan = scanning.result()
    os.truncate(ended.path, stop.offset)
    with ended.path.open("ab") as file:
        if facts.page is None:
            file.write(_frame(Kind.ENDED, facts.last_ms, summary.dump(page)))
        file.write(_frame(Kind.SCANNED, facts.last_ms, documents.dump(scan)))
    return started, page, scan


def _frame(kind: Kind, ms: int, payload: bytes) -> bytes:
    return frame_head(kind, ms, payload) + payload
