"""A source that lists what is read from it: what was analysed and what a package names can't be two things."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace

from fairtrial.cohort.ledger import Ledger
from fairtrial.errors import InvalidInput
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.package_paths import PackageLayout
from fairtrial_analysis.load.source import EvidenceSource
from fairtrial_analysis.package.listing import File, Packed
from fairtrial_analysis.package.runs import Recorded, recorded

PREREGISTRATION = "preregistration.json"


class Noting:
    """Reads through to another source. Records may be read from many threads."""

    def __init__(self, source: EvidenceSource, cohort: str, uid: str) -> None:
        self.source, self.cohort, self.uid = source, cohort, uid
        self.ledger = Ledger(cohort, uid)
        self.files: dict[str, File] = {}  # of the cohort as a whole, by path
        self._records: dict[str, tuple[Packed, Recorded]] = {}
        self._lock = threading.Lock()

    def keys(self, layout: Layout, namespace: str) -> PackageLayout:
        """Where everything that the ledger speaks of lies."""
        uids = {run: entry.uid for run, entry in self.ledger.records.items()}
        return PackageLayout(layout, namespace, self.cohort, self.uid, uids)

    def preregistration(self) -> bytes:
        """The preregistration."""
        return self._noted(PREREGISTRATION, self.source.preregistration())

    def ledger_pages(self) -> Iterator[bytes]:
        """The ledger's pages in their order. Records are read after them: they say which there are."""
        self.ledger = Ledger(self.cohort, self.uid)
        for data in self.source.ledger_pages():
            # One that does not fit is evidence all the same, and whoever reads it says what is wrong.
            yield self._noted(paths.ledger_page(self.ledger.size + 1), data)
            with contextlib.suppress(InvalidInput):
                self.ledger.take(data)

    def record(self, run: str, uid: str) -> bytes | None:
        """The record of a run."""
        data = self.source.record(run, uid)
        if data is not None and self._is_recorded(run, uid):
            found = recorded(run, data, self.ledger.records[run].sha256)
            with self._lock:  # the files packed: a cohort may have a million
                self._records[run] = (Packed.of(found.files), replace(found, files=()))
        return data

    def corrections(self) -> list[bytes]:
        """The corrections in their order. One that the ledger does not name yet belongs to the next package."""
        found = self.source.corrections()
        for number, data in enumerate(found[: len(self.ledger.corrections)], start=1):
            self._noted(paths.correction(number), data)
        return found

    def document(self, name: str) -> bytes | None:
        """Another document of the cohort, by its path below `data/`, or None."""
        data = self.source.document(name)
        return data if data is None else self._noted(name, data)

    @property
    def runs(self) -> list[str]:
        """The runs whose records were read."""
        return sorted(self._records)

    def recorded(self, run: str) -> Recorded:
        """What the record of a run lists."""
        files, slim = self._records[run]
        return replace(slim, files=tuple(files))

    def _is_recorded(self, run: str, uid: str) -> bool:
        return run in self.ledger.records and self.ledger.records[run].uid == uid

    def _noted(self, path: str, data: bytes) -> bytes:
        made = File.of(path, data)
        with self._lock:
            self.files[path] = made
        return data
