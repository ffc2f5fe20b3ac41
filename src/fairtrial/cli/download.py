"""Downloads an evidence package: in parallel, resumable, every hash checked on the way.

Nothing in the bucket is trusted. The package's digest is known from elsewhere; it is that of the manifest, which has
the digest of every other file. So a hostile bucket can withhold, and no more: sizes are bounded before anything is
read, names are those that `verify` takes, and every address lies in the bucket that the environment names. The folder
gets its name once all is there.
"""

import contextlib
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fairtrial.audit import lists
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import DOCUMENT_MAX, Folder
from fairtrial.cli.records import NotAsRecorded
from fairtrial.errors import DigestMismatch, FairtrialError, InvalidInput, NotStored, StoreUnavailable
from fairtrial.evidence import layout
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.objects import ObjectStore

WORKERS, QUEUED, TRIES = 16, 64, 3
TAG_MAX = 8 * 1024**2  # bytes of a small tag file
OWN_MAX = 1024**3  # bytes of a file that is stored with the package; fetch.txt bounds the others
SHOWN = 5
_LARGE = (paths.MANIFEST, paths.FETCH)

T = TypeVar("T")
Progress = Callable[[int, int], None]  # files that are done, and all


class PackageUnfit(FairtrialError):
    """What lies at the address is no package that may be written to a disk."""

    reason = "PackageUnfit"


@dataclass(frozen=True)
class Address:
    """Where a package lies."""

    base: str  # what its own keys begin with
    digest: str
    bucket: str

    @classmethod
    def of(cls, uri: str, bucket: str) -> "Address":
        """The package at `s3://bucket/…/packages/<digest>`, which must be in the bucket that is asked."""
        base = layout.key_of_uri(uri).removesuffix("/")
        if not uri.startswith(f"s3://{bucket}/"):
            raise InvalidInput(
                f"FAIRTRIAL_S3_BUCKET: is {bucket}, but the package is {uri}.",
                next_move="Name the bucket, and the endpoint, that it lies in.",
            )
        return cls(base, paths.digest_of(base), bucket)


@dataclass(frozen=True)
class Wanted:
    """One file: where it lies, and what it must be. Its size is exact where it is known, or else a bound."""

    path: str
    key: str
    sha256: str | None
    size: int
    exact: bool = False


def download(store: ObjectStore, address: Address, to: Path, progress: Progress | None = None) -> int:
    """Make the folder `to` with the whole package, or go on where an earlier attempt ended; how many files it has."""
    if to.is_symlink() or to.exists():
        raise InvalidInput(f"{to}: exists already; nothing was overwritten.", next_move=f"Run: fairtrial verify {to}")
    part = to.with_name(f"{to.name}.part")
    incoming = part / ".incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    tags = _tags(store, address, part)
    wanted = _payload(part, address)
    _check_room(part, wanted)
    _each(lambda one: _fetch(store, one, part), wanted, progress)
    shutil.rmtree(incoming)
    _refuse_strangers(part, {one.path for one in wanted} | tags)
    part.rename(to)
    return len(wanted) + len(tags)


def _tags(store: ObjectStore, address: Address, part: Path) -> set[str]:
    """The files outside `data/`: the manifest by the package's digest, the others by the list of tag files."""

    def wanted(path: str, sha256: str | None) -> Wanted:
        most = DOCUMENT_MAX if path in _LARGE else TAG_MAX
        return Wanted(path, paths.own_key(address.base, path), sha256, most)

    _fetch(store, wanted(paths.MANIFEST, address.digest), part)
    _fetch(store, wanted(paths.TAG_MANIFEST, None), part)
    listed = _digests(part, paths.TAG_MANIFEST)
    if listed.get(paths.MANIFEST) != address.digest or set(listed) != set(paths.SUBJECTS):
        raise PackageUnfit(f"{paths.TAG_MANIFEST}: does not list the tag files of package {address.digest}.")
    for path in (paths.BAGIT, paths.BAG_INFO, paths.FETCH, paths.VERIFY):
        _fetch(store, wanted(path, listed[path]), part)
    found = {*paths.SUBJECTS, paths.TAG_MANIFEST}
    for path in (paths.STATEMENT, paths.TIMESTAMP):
        try:
            _fetch(store, wanted(path, None), part)
            found.add(path)
        except NotStored:
            (part / path).unlink(missing_ok=True)  # `verify` says what its absence means
    return found


def _payload(part: Path, address: Address) -> list[Wanted]:
    """Every payload file: where fetch.txt says, or else with the package."""
    manifest = _digests(part, paths.MANIFEST)
    elsewhere = _checked(part, paths.FETCH, lists.fetched)
    for path in elsewhere:
        if path not in manifest:
            raise PackageUnfit(f"{paths.FETCH}: names {path}, which {paths.MANIFEST} does not.")
    made = []
    for path, digest in manifest.items():
        if not path.startswith(paths.PAYLOAD):
            raise PackageUnfit(f"{paths.MANIFEST}: names {path}, which is no payload file.")
        source = elsewhere.get(path)
        if source is None:
            made.append(Wanted(path, paths.own_key(address.base, path), digest, OWN_MAX))
            continue
        if not source.uri.startswith(f"s3://{address.bucket}/"):
            raise PackageUnfit(f"{paths.FETCH}: {path} lies at {source.uri}, which is another bucket.")
        made.append(Wanted(path, layout.key_of_uri(source.uri), digest, source.size, exact=True))
    folders = {str(parent) for path in manifest for parent in Path(path).parents}
    if both := folders & set(manifest):
        raise PackageUnfit(f"{paths.MANIFEST}: {min(both)} is a file and a folder.")
    return made


def _digests(part: Path, path: str) -> dict[str, str]:
    return _checked(part, path, lambda folder: lists.digests(folder, path))


def _checked(part: Path, path: str, read: Callable[[Folder], T]) -> T:
    """A list of the package, as `verify` reads it; refused at the first thing that `verify` would find."""
    findings = Findings()
    made = read(Folder(part, findings, {path: (part / path).stat().st_size}))
    for finding in findings:
        raise PackageUnfit(f"{finding.path}: {finding.code}: {finding.says}")
    return made


def _check_room(part: Path, wanted: Iterable[Wanted]) -> None:
    needed = sum(one.size for one in wanted if one.exact and not (part / one.path).exists())
    free = shutil.disk_usage(part).free
    if needed > free:
        raise PackageUnfit(
            f"{part}: {needed} bytes are still to come, and the disk has room for {free}.",
            next_move="Make room, or name a folder elsewhere: --to.",
        )


def _each(fetch: Callable[[Wanted], None], wanted: list[Wanted], progress: Progress | None) -> None:
    """Fetch all; one that can't be fetched does not keep others from being fetched, and what came stays."""
    failed: list[FairtrialError] = []
    done = 0
    pool = ThreadPoolExecutor(WORKERS)
    try:
        for future in _completed(pool, fetch, wanted):
            error = future.exception()
            if isinstance(error, FairtrialError):
                failed.append(error)
            elif error is not None:
                raise error
            done += 1
            if progress is not None:
                progress(done, len(wanted))
    finally:
        pool.shutdown(cancel_futures=True)
    if failed:
        shown = " ".join(str(error) for error in failed[:SHOWN])
        raise PackageUnfit(
            f"{len(failed)} of {len(wanted)} files could not be fetched. {shown}",
            next_move="The rest is kept: the same command goes on where this one was.",
        )


def _completed(
    pool: ThreadPoolExecutor, fetch: Callable[[Wanted], None], wanted: Iterable[Wanted]
) -> Iterator[Future[None]]:
    """Futures as they complete, few at a time: a million of them would take more memory than the lists."""
    pending: set[Future[None]] = set()
    for one in wanted:
        pending.add(pool.submit(fetch, one))
        if len(pending) >= QUEUED:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from finished
    yield from wait(pending).done


def _fetch(store: ObjectStore, one: Wanted, part: Path) -> None:
    """One file, under its name only when its bytes are right. What an earlier attempt left is read, not believed."""
    target = part / one.path
    _check_inside(part, target)
    if one.sha256 is not None and target.is_file() and _sha256(target) == one.sha256:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = part / ".incoming" / f"{threading.get_ident()}"
    for attempt in range(1, TRIES + 1):
        try:
            actual = _write(store, one, scratch)
            break
        except DigestMismatch as error:
            raise NotAsRecorded(one.key, error.expected, error.actual) from error
        except StoreUnavailable:
            if attempt == TRIES:
                raise
    if one.sha256 is not None and actual != one.sha256:
        raise NotAsRecorded(one.key, one.sha256, actual)
    scratch.replace(target)


def _write(store: ObjectStore, one: Wanted, scratch: Path) -> str:
    """Write what lies under the key, up to the size that it may have; its SHA-256."""
    source, digest, size = store.open(one.key), hashlib.sha256(), 0
    try:
        with scratch.open("wb") as file:
            _check_size(one, source.size, whole=True)
            for chunk in source:
                size += len(chunk)
                _check_size(one, size, whole=False)
                digest.update(chunk)
                file.write(chunk)
    finally:
        with contextlib.suppress(OSError):
            source.close()
    return digest.hexdigest()


def _check_size(one: Wanted, size: int, *, whole: bool) -> None:
    if size > one.size or (whole and one.exact and size != one.size):
        most, more = "" if one.exact else "at most ", "" if whole else " or more"
        raise PackageUnfit(f"{one.key}: has {size} bytes{more}, and should have {most}{one.size}.")


def _check_inside(part: Path, target: Path) -> None:
    """The lists hold no name that leads outside; a link that somebody laid into the folder might."""
    inside = Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(part))
    if not inside or target.is_symlink():
        raise PackageUnfit(f"{target}: is a link, or lies behind one.", next_move=f"Remove {part} and fetch again.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_strangers(part: Path, known: set[str]) -> None:
    for folder, _, files in os.walk(part):
        for name in files:
            path = Path(folder, name).relative_to(part).as_posix()
            if path not in known:
                raise PackageUnfit(f"{part / path}: is no file of the package.", next_move="Remove it and fetch again.")
