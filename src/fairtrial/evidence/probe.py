"""What the store really does, asked at start: stores that ignore a condition or a checksum answer 200 all the same.

Each check leaves a few bytes below `<prefix>probe/<random>/`; what was found is kept there as `capabilities.json`, so
that an auditor can see on which behaviour the evidence relied.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fairtrial import documents
from fairtrial.errors import Conflict, FairtrialError, StoreUnavailable, StoreUnfit
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import StoredObject
from fairtrial.evidence.store import S3Store

RACERS = 8


@dataclass(frozen=True)
class ObjectLock:
    """The bucket's default retention; `mode` is empty where the bucket has Object Lock but no default."""

    mode: str
    days: int


@dataclass(frozen=True)
class Capabilities:
    """What was found. Everything but Object Lock is required, so a stored document says that it held."""

    conditional_put: bool
    conditional_complete: bool
    racers: int
    winners: int
    checksum_enforced: bool
    read_back_equal: bool
    object_lock: ObjectLock | None
    retention_days: int  # asked for on every object
    retention_enforced: bool | None  # None where no retention was asked for
    schema_version: int = 1


def probe(store: S3Store, token: str | None = None) -> Capabilities:
    """Try every behaviour that evidence depends on; `StoreUnfit` names all that are lacking."""
    layout, token = Layout(store.settings.prefix), token or secrets.token_hex(8)

    def key(name: str) -> str:
        return layout.probe(token, name)

    days, lock = store.settings.object_lock_days, _object_lock(store)
    if days and lock is None:
        raise StoreUnfit(
            f"Bucket {store.settings.bucket} has no Object Lock, but retention of {days} days is configured.",
            next_move="Use a bucket that was made with Object Lock, or set FAIRTRIAL_S3_OBJECT_LOCK_DAYS to 0.",
        )
    winners, read_back = _race(store, key("race.bin"))
    found = Capabilities(
        conditional_put=_refuses_second(lambda data: store.put(key("put.bin"), data)),
        conditional_complete=_refuses_second(lambda data: _multipart(store, key("multipart.bin"), data)),
        racers=RACERS,
        winners=winners,
        checksum_enforced=store.refuses_wrong_checksum(key("checksum.bin")),
        read_back_equal=read_back,
        object_lock=lock,
        retention_days=days,
        retention_enforced=store.refuses_deletion(key("put.bin")) if days else None,
    )
    lacking = _lacking(found)
    if lacking:
        raise StoreUnfit(
            f"The object store {lacking}.",
            next_move="Use a store and bucket that do; nothing was accepted for storage.",
        )
    store.put(key("capabilities.json"), documents.dump(found), media_type="application/json")
    return found


def _lacking(found: Capabilities) -> str:
    """Every required behaviour that was not found, as the rest of a sentence; empty if there is none."""
    faults = {
        "ignores If-None-Match on PutObject": not found.conditional_put,
        "ignores If-None-Match on CompleteMultipartUpload": not found.conditional_complete,
        f"let {found.winners} of {found.racers} racing creators win": found.winners != 1,
        "accepts a body that differs from its SHA-256 checksum": not found.checksum_enforced,
        "gave back other bytes than were stored": not found.read_back_equal,
        "deleted an object under retention": found.retention_enforced is False,
    }
    return ", and ".join(text for text, lacks in faults.items() if lacks)


def _refuses_second(create: Callable[[bytes], StoredObject]) -> bool:
    create(b"first")
    try:
        create(b"second")
    except Conflict:
        return True
    return False


def _multipart(store: S3Store, key: str, data: bytes) -> StoredObject:
    upload = store.open_upload(key, multipart=True)
    upload.write(data)
    return upload.commit()


def _race(store: S3Store, key: str) -> tuple[int, bool]:
    """How many of several creators of one key won, and whether the winner's bytes are what lies there."""

    def create(number: int) -> bytes | None:
        data = b"racer %d " % number * 1000
        try:
            return data if store.put(key, data).created else None
        except Conflict:
            return None
        except StoreUnavailable:
            raise
        except FairtrialError:
            return None

    with ThreadPoolExecutor(RACERS) as pool:
        winners = [data for data in pool.map(create, range(RACERS)) if data is not None]
    return len(winners), store.get(key) in winners


def _object_lock(store: S3Store) -> ObjectLock | None:
    rule = store.object_lock()
    return None if rule is None else ObjectLock(*rule)
