"""Reads what a package needs besides what was analysed: statements, checkpoints, time-stamps, and the lists of calls.

All are small. Artifacts are not read: size and hash of each are in the record, or in the run's list of calls.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from fairtrial import documents
from fairtrial.errors import FairtrialError, NotStored
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.objects import ObjectStore
from fairtrial.evidence.package_paths import PackageLayout
from fairtrial_analysis.package.listing import File, Listing, Packed
from fairtrial_analysis.package.noting import Noting
from fairtrial_analysis.package.runs import (
    CALLS_FILE,
    EVALUATION_STATEMENT,
    RECORD_STATEMENT,
    SCAN_FILES,
    RunFiles,
    files_of,
)

READERS = 16
DOCUMENT_MAX = 64 * 1024 * 1024
SIGNATURES = ("preregistration.sigstore.json", "preregistration.tsr")
SHOWN = 5


class PackageRefused(FairtrialError):
    """A package that may not be published, or that nobody could fetch."""

    reason = "PackageRefused"


@dataclass(frozen=True)
class Shelf:
    """The files of a package where they lie before there is one: in the store, each under its own key."""

    store: ObjectStore
    keys: PackageLayout

    def read(self, path: str) -> bytes | None:
        """A small document by its path below `data/`, or None."""
        try:
            return self.store.get(self._key(path), limit=DOCUMENT_MAX)
        except NotStored:
            return None

    def size(self, path: str) -> int | None:
        """Bytes of a file that is not read, or None if there is no such file."""
        found = self.store.head(self._key(path))
        return None if found is None else found.size

    def _key(self, path: str) -> str:
        key = self.keys.key(path)
        assert key is not None, f"{path} is stored with the package"
        return key


@dataclass(frozen=True)
class Gathered:
    """Every payload file that lies in the store anyway, and what is held back."""

    listing: Listing
    withheld: tuple[File, ...]


def gather(noting: Noting, shelf: Shelf, preregistration: dict[str, Any], *, withhold: bool = False) -> Gathered:
    """List everything that a package holds. What holds credentials is refused, or held back if `withhold` says so."""
    files = dict(noting.files)
    listing, withheld = Listing(), list[File]()
    flagged = list[str]()
    with ThreadPoolExecutor(READERS) as pool:
        wanted = [path for path in _cohort_documents(noting) if path not in files]
        for path, data in zip(wanted, pool.map(shelf.read, wanted), strict=True):
            if data is not None:
                files[path] = File.of(path, data)
        for run, (held, listed) in zip(
            noting.runs, pool.map(lambda run: _run(shelf, noting, run), noting.runs), strict=True
        ):
            listing.add_run(run, listed)
            withheld += held.withheld
            if held.withheld:
                flagged.append(f"{run} (not searched to the end)" if held.unscanned else run)
    if flagged and not withhold:
        raise PackageRefused(
            f"A credential or canary was found, or not looked for, in files of {len(flagged)} runs: {_some(flagged)}.",
            next_move="Renew the secret that their model/calls.json or scan/*.json name, set analysis.withhold in the "
            "chart's values, and analyse again.",
        )
    listing.add(*files.values(), *_archives(shelf, preregistration))
    listing.add(*_endorsed(shelf, noting), *_released(shelf, noting, preregistration))
    return Gathered(listing, tuple(sorted(withheld)))


def _cohort_documents(noting: Noting) -> Iterator[str]:
    yield from SIGNATURES
    for size in sorted(noting.ledger.checkpoints):
        yield paths.checkpoint(size)
        yield f"{paths.checkpoint(size)}.tsr"


def _run(shelf: Shelf, noting: Noting, run: str) -> tuple[RunFiles, Packed]:
    """What is held back of a run, and what is listed; the latter packed here, lest results pile up before they are."""
    listed = noting.recorded(run)
    there = {file.path for file in listed.files}
    wanted = (
        RECORD_STATEMENT,
        EVALUATION_STATEMENT,
        *(name for name in (CALLS_FILE, *SCAN_FILES) if paths.run_file(run, name) in there),
    )
    read = {name: shelf.read(paths.run_file(run, name)) for name in wanted}
    try:
        found = files_of(run, listed, {name: data for name, data in read.items() if data is not None})
    except FairtrialError as error:
        raise PackageRefused(
            f"What was found in the calls and artifacts of run {run} can't be read: {error}"
        ) from error
    return replace(found, files=()), Packed.of(found.files)


def _archives(shelf: Shelf, preregistration: dict[str, Any]) -> Iterator[File]:
    """The tasks' public archives, which are known by their digests."""
    for digest in _digests(preregistration, "publicSha256"):
        path = f"tasks/sha256/{digest}"
        size = shelf.size(path)
        if size is None:
            raise PackageRefused(
                f"The public archive {digest} of a task is not in the store.",
                next_move="Push that version of the task again: fairtrial task push.",
            )
        yield File(path, size, digest)


def _endorsed(shelf: Shelf, noting: Noting) -> Iterator[File]:
    """The study owner's signature, if the ledger, as far as it was read, tells of one: no other has a time."""
    named = noting.ledger.endorsement
    if named is None:
        return
    said = shelf.read(paths.STUDY_SIGNATURE)
    if said is None or (made := File.of(paths.STUDY_SIGNATURE, said)).sha256 != named.sha256:
        raise PackageRefused(
            f"The study owner's signature {named.sha256} that the ledger names is not in the store.",
            next_move="Restore that object from a copy: no other can take its place.",
        )
    yield made


def _released(shelf: Shelf, noting: Noting, preregistration: dict[str, Any]) -> Iterator[File]:
    """The hidden archives and the statement about them, if the ledger, as far as it was read, tells of a release."""
    named = noting.ledger.release
    if named is None:
        return
    again = "Run again what the study owner ran: fairtrial release."
    said = shelf.read(paths.RELEASE)
    if said is None or (made := File.of(paths.RELEASE, said)).sha256 != named.sha256:
        raise PackageRefused(f"The release {named.sha256} that the ledger names is not in the store.", next_move=again)
    yield made
    for digest in _digests(preregistration, "sealedSha256"):
        size = shelf.size(paths.sealed(digest))
        if size is None:
            raise PackageRefused(f"The hidden archive {digest} was released and is not there.", next_move=again)
        yield File(paths.sealed(digest), size, digest)


def _digests(preregistration: dict[str, Any], field: str) -> list[str]:
    """The digests of the tasks' archives of one kind, sorted."""
    tasks = documents.from_json(dict[str, dict[str, Any]], preregistration["resolved"]["tasks"], "resolved.tasks")
    return sorted({str(task[field]) for task in tasks.values()})


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
