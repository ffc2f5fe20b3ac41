"""What no package can show: other versions of what it names, deletions, weak locks, and gaps in the store's listing.

Asked of the store itself, with the auditor's rights (`roles`). A lock and a version tell only what the store says.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fairtrial.errors import StoreError
from fairtrial.evidence import s3_xml
from fairtrial.evidence.s3_xml import Refused, Retention, Version
from fairtrial.evidence.store import S3Store

WORKERS = 16
COMPLIANCE = "COMPLIANCE"
_NO_RETENTION = "NoSuchObjectLockConfiguration"
Code = Literal["VERSION_OVERWRITE", "DELETE_MARKER", "LOCK_WEAK", "LISTING_INCOMPLETE", "OBJECT_MISSING"]
MEANINGS: dict[Code, str] = {
    "VERSION_OVERWRITE": "An object has more than one version: somebody wrote it again.",
    "DELETE_MARKER": "Somebody deleted an object; its versions may be there still.",
    "LOCK_WEAK": "An object can be deleted: no retention, one that a right can shorten, or one that ends too soon.",
    "OBJECT_MISSING": "The package names an object that is not in the store.",
    "LISTING_INCOMPLETE": "The store does not list an object that it has: a warning, since nothing rests on listings.",
}
WARNINGS: frozenset[Code] = frozenset({"LISTING_INCOMPLETE"})


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that the store says, about one key."""

    key: str
    code: Code
    says: str


def audit(
    store: S3Store, named: Collection[str], until: datetime, progress: Callable[[int, int], None] | None = None
) -> list[Finding]:
    """Ask about every key that a package names, and every other below the cohort's folder; in the order of keys.

    `until`: when each retention must still hold.
    """
    prefixes = _prefixes(named)
    found = [one for prefix in prefixes for one in of_versions(versions(store, prefix))]
    listed = {key for prefix in prefixes for key in store.keys(prefix)}
    found += of_listing(named, listed, lambda key: store.head(key) is not None)
    if store.object_lock() is None:
        found.append(Finding("", "LOCK_WEAK", f"Bucket {store.settings.bucket} has no Object Lock."))
        return sorted(found)
    there = sorted(listed & set(named))
    with ThreadPoolExecutor(WORKERS) as pool:
        for done, (key, held) in enumerate(zip(there, pool.map(lambda key: retention(store, key), there), strict=True)):
            found += of_lock(key, held, until)
            if progress is not None:
                progress(done + 1, len(there))
    return sorted(found)


def of_versions(listed: Iterable[Version]) -> Iterator[Finding]:
    """What was written again, and what was deleted. Pure."""
    written, deleted = Counter[str](), Counter[str]()
    for one in listed:
        (deleted if one.marker else written)[one.key] += 1
    for key, count in written.items():
        if count > 1:
            yield Finding(key, "VERSION_OVERWRITE", f"It has {count} versions.")
    for key in deleted:
        left = written[key]
        yield Finding(key, "DELETE_MARKER", f"It was deleted; {left or 'no'} version{'s' * (left != 1)} of it left.")


def of_listing(named: Collection[str], listed: Collection[str], there: Callable[[str], bool]) -> Iterator[Finding]:
    """What the package names and the store does not list; `there` asks for one key."""
    for key in sorted(set(named) - set(listed)):
        if there(key):
            yield Finding(key, "LISTING_INCOMPLETE", "It is there, and the store does not list it.")
        else:
            yield Finding(key, "OBJECT_MISSING", "The package names it, and it is not there.")


def of_lock(key: str, held: Retention | None, until: datetime) -> Iterator[Finding]:
    """Whether somebody could delete the object before then. Pure."""
    if held is None:
        yield Finding(key, "LOCK_WEAK", "It has no retention.")
    elif held.mode != COMPLIANCE:
        yield Finding(key, "LOCK_WEAK", f"Its retention is {held.mode}, which a right can shorten.")
    elif held.until < until:
        yield Finding(key, "LOCK_WEAK", f"Its retention ends at {held.until:%Y-%m-%dT%H:%M:%SZ}.")


def versions(store: S3Store, prefix: str, *, page_size: int = 1000) -> Iterator[Version]:
    """All versions and markers of keys that begin so, each once."""
    query = {"versions": "", "prefix": prefix, "encoding-type": "url", "max-keys": str(page_size)}
    while True:
        page, after = store.retrying(
            f"list versions below {prefix}", lambda: s3_xml.versions(store.s3.ask("GET", query=query).data)
        )
        # Some stores begin a page with what the one before ended with.
        told = (query.get("key-marker"), query.get("version-id-marker"))
        yield from (one for one in page if (one.key, one.version_id) != told)
        if after is None:
            return
        if told == tuple(after.values()):
            raise StoreError(f"list versions below {prefix}: the store gives the same page again and again.")
        query.update(after)


def retention(store: S3Store, key: str) -> Retention | None:
    """An object's own retention, or None."""

    def ask() -> Retention | None:
        try:
            return s3_xml.retention(store.s3.ask("GET", key, {"retention": ""}).data)
        except Refused as refused:  # with 404 by S3, with 400 by versitygw
            if refused.code == _NO_RETENTION:
                return None
            raise

    return store.retrying(f"read the retention of {key}", ask)


def _prefixes(named: Iterable[str]) -> list[str]:
    """The folder of each cohort, and every key that lies elsewhere, as the archives of tasks do."""
    return sorted({_cohort(key) or key for key in named})


def _cohort(key: str) -> str:
    """`…ns/<namespace>/cohorts/<name>/` of a key below it."""
    head, found, tail = key.partition("/cohorts/")
    return f"{head}{found}{tail.partition('/')[0]}/" if found else ""
