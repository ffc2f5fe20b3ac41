"""Where the documents of one cohort come from: the store, or the folder that a package was fetched into.

Nothing is found by listing: a listing could hide what is missing. Pages of the ledger are found by their numbers,
corrections likewise, records by what the ledger names. A listing only tells which pages are worth fetching ahead.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from fairtrial.errors import InvalidInput, NotStored, StoreError
from fairtrial.evidence.layout import LEDGER_DIGITS, Layout, check_segment
from fairtrial.evidence.objects import ObjectStore
from fairtrial_analysis.load.ahead import guessing

DOCUMENT_MAX = 64 * 1024 * 1024
RECORD_MAX = 16 * 1024 * 1024


class EvidenceSource(Protocol):
    """The stored documents of one cohort, as bytes; whoever asks checks them."""

    def preregistration(self) -> bytes:
        """The preregistration; `NotStored` if there is none."""

    def ledger_pages(self) -> Iterator[bytes]:
        """Pages in their order, as far as the analysis reads."""

    def record(self, run: str, uid: str) -> bytes | None:
        """The record of a run; None if there is none. May be called from several threads."""

    def corrections(self) -> list[bytes]:
        """Corrections from number 1 on, to the first number that is not there."""

    def document(self, name: str) -> bytes | None:
        """Another document of the cohort, such as `checkpoints/00000042.note`; None if there is none."""


class StoreSource:
    """A cohort in the store. With `ledger_size`, the ledger is read so far and no further."""

    def __init__(
        self, store: ObjectStore, layout: Layout, cohort: tuple[str, str, str], ledger_size: int | None = None
    ) -> None:
        self._store, self._layout = store, layout
        self._namespace, self._name, self._uid = cohort
        self._cohort = layout.cohort(*cohort)
        self._ledger_size = ledger_size

    def preregistration(self) -> bytes:
        """The preregistration; `NotStored` if there is none."""
        return self._store.get(self._cohort.preregistration(), limit=DOCUMENT_MAX)

    def ledger_pages(self) -> Iterator[bytes]:
        """Pages in their order, up to the size that was asked for."""
        with guessing(self._get, self._listed_pages()) as read:
            yield from pages(lambda first: read(self._cohort.ledger_page(first)), self._ledger_size)

    def record(self, run: str, uid: str) -> bytes | None:
        """The record of a run; None if there is none."""
        return self._get(self._layout.run(self._namespace, run, uid, self._name).record(), RECORD_MAX)

    def corrections(self) -> list[bytes]:
        """Corrections from number 1 on."""
        return _numbered(lambda number: self._get(self._cohort.correction(number)))

    def document(self, name: str) -> bytes | None:
        """Another document of the cohort."""
        return self._get(f"{self._cohort.base}/{name}")

    def _listed_pages(self) -> list[str]:
        """Where pages may be found, as far as the store says so: each names the one after it, which takes long."""
        listed = list[str]()
        with contextlib.suppress(StoreError):
            listed = self._store.keys(self._cohort.ledger())
        size = self._ledger_size
        return listed if size is None else [key for key in listed if key <= self._cohort.ledger_page(size)]

    def _get(self, key: str, limit: int = DOCUMENT_MAX) -> bytes | None:
        try:
            return self._store.get(key, limit=limit)
        except NotStored:
            return None


class FolderSource:
    """A fetched package. Whoever sent it is not trusted: no link is followed, and nothing outside is read."""

    def __init__(self, folder: Path, ledger_size: int | None = None) -> None:
        self._data, self._ledger_size = folder / "data", ledger_size

    def preregistration(self) -> bytes:
        """The preregistration; `NotStored` if there is none."""
        found = self._read("preregistration.json")
        if found is None:
            raise NotStored(f"{self._data / 'preregistration.json'}: there is no such file.")
        return found

    def ledger_pages(self) -> Iterator[bytes]:
        """Pages in their order, up to the size that was asked for."""
        return pages(lambda first: self._read(f"ledger/{first:0{LEDGER_DIGITS}d}.json"), self._ledger_size)

    def record(self, run: str, uid: str) -> bytes | None:  # noqa: ARG002 - a package holds one run of a name
        """The record of a run; None if there is none."""
        return self._read(f"runs/{check_segment(run, what='run')}/record.json", RECORD_MAX)

    def corrections(self) -> list[bytes]:
        """Corrections from number 1 on."""
        return _numbered(lambda number: self._read(f"corrections/{number:0{LEDGER_DIGITS}d}.json"))

    def document(self, name: str) -> bytes | None:
        """Another document of the cohort."""
        return self._read(name)

    def _read(self, name: str, limit: int = DOCUMENT_MAX) -> bytes | None:
        path = self._data
        for segment in name.split("/"):
            path /= check_segment(segment, what=f"file {name!r}")
            if path.is_symlink():
                raise InvalidInput(f"{path}: is a link; a package holds files only.")
        if not path.is_file():
            return None
        if path.stat().st_size > limit:
            raise InvalidInput(f"{path}: is larger than {limit} bytes.")
        return path.read_bytes()


class _Read(Protocol):
    def __call__(self, number: int, /) -> bytes | None: ...


def pages(read: _Read, size: int | None = None) -> Iterator[bytes]:
    """Pages of a ledger by the numbers of their first entries. One that can't be counted is given, and the last."""
    first = 1
    while size is None or first <= size:
        data = read(first)
        if data is None:
            return
        yield data
        entries = _entries(data)
        if not entries:
            return
        first += entries


def _entries(data: bytes) -> int:
    try:
        held = json.loads(data)
    except (ValueError, RecursionError):
        return 0
    entries = held.get("entries") if isinstance(held, dict) else None
    return len(entries) if isinstance(entries, list) else 0


def _numbered(read: _Read) -> list[bytes]:
    found: list[bytes] = []
    while (data := read(len(found) + 1)) is not None:
        found.append(data)
    return found
