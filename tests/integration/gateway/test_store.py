"""The store's promises on a real S3 server, through a network that breaks them."""

import hashlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from fairtrial.errors import Conflict, DigestMismatch, StoreError, StoreUnavailable
from fairtrial.evidence import s3_client
from fairtrial.evidence.objects import PART_SIZE
from fairtrial.evidence.probe import probe
from fairtrial.evidence.s3_calls import CHECKSUM, DIGEST
from fairtrial.evidence.s3_sweep import sweep
from fairtrial.evidence.store import S3Settings, S3Store
from tests.boto import boto

BIG = secrets.token_bytes(PART_SIZE + 1000)
FAULTS = [("drop", 0), ("SlowDown", 503), ("ConditionalRequestConflict", 409)]


def fresh(name: str) -> str:
    return f"t/{secrets.token_hex(6)}/{name}"


def upload(store: S3Store, key: str, data: bytes, sha256: str | None = None):
    started = store.open_upload(key, sha256=sha256)
    started.write(data)
    return started.commit()


def parts_left(store: S3Store, key: str) -> list[str]:
    listed = boto(store).list_multipart_uploads(Bucket=store.settings.bucket, Prefix=key)
    return [each["Key"] for each in listed.get("Uploads", [])]


def test_the_real_store_is_fit(store: S3Store):
    found = probe(store)

    assert (found.winners, found.checksum_enforced, found.conditional_complete) == (1, True, True)


def test_objects_are_under_retention_where_it_is_configured(world, store: S3Store):
    settings = S3Settings.from_env(world.env | {"FAIRTRIAL_S3_OBJECT_LOCK_DAYS": "1"})
    locking = S3Store(settings)

    assert probe(locking).retention_enforced is True
    for make in (lambda key: locking.put(key, b"x"), lambda key: upload(locking, key, BIG)):
        key = fresh("locked.bin")
        make(key)
        held = boto(locking).get_object_retention(Bucket=settings.bucket, Key=key)["Retention"]
        assert held["Mode"] == "COMPLIANCE"


@pytest.mark.parametrize(("fault", "status"), FAULTS)
def test_one_fault_of_a_put_is_survived(store: S3Store, proxy, fault: str, status: int):
    key = fresh("a.txt")
    proxy.order("PUT", fault, status, where=key)

    assert store.put(key, b"x").sha256 == hashlib.sha256(b"x").hexdigest()
    assert proxy.done == [fault]


@pytest.mark.parametrize(("fault", "status"), FAULTS)
def test_one_fault_of_a_completion_is_survived(store: S3Store, proxy, fault: str, status: int):
    key = fresh("a.bin")
    proxy.order("POST", fault, status, where="uploadId")
    proxy.order("PUT", "drop", where="partNumber=1")

    assert upload(store, key, BIG).sha256 == hashlib.sha256(BIG).hexdigest()
    assert sorted(proxy.done) == sorted(["drop", fault])
    assert store.get(key) == BIG
    assert parts_left(store, key) == []


def test_three_times_503_is_waited_for_and_for_ever_is_not(store: S3Store, proxy):
    key = fresh("a.txt")
    proxy.order("PUT", "SlowDown", 503, times=3, where=key)
    assert store.put(key, b"x").created

    other = fresh("a.txt")
    proxy.order("PUT", "SlowDown", 503, times=99, where=other)
    with pytest.raises(StoreUnavailable):
        store.put(other, b"x")


def test_a_cut_body_is_read_again(store: S3Store, proxy):
    key = fresh("a.bin")
    store.put(key, BIG[:100_000])
    proxy.order("GET", "cut", where=key)

    assert store.get(key) == BIG[:100_000]
    assert proxy.done == ["cut"]


def test_of_many_creators_one_wins_and_nobody_overwrites(store: S3Store):
    key = fresh("race.bin")

    def create(number: int) -> bool:
        try:
            return store.put(key, b"%d" % number).created
        except Conflict:
            return False

    with ThreadPoolExecutor(16) as pool:
        wins = list(pool.map(create, range(16)))

    assert wins.count(True) == 1
    assert store.get(key) == b"%d" % wins.index(True)


def test_an_equal_upload_is_adopted_and_an_unequal_one_refused_without_leaving_parts(store: S3Store):
    key = fresh("a.bin")

    assert upload(store, key, BIG).created
    assert not upload(store, key, BIG).created
    with pytest.raises(Conflict):
        upload(store, key, BIG + b"!")
    assert parts_left(store, key) == []


def test_a_stream_without_a_known_digest_is_checked_by_its_parts(store: S3Store):
    key = fresh("a.bin")
    upload(store, key, BIG)
    with store.s3.send("GET", key, headers={"x-amz-checksum-mode": "ENABLED"}) as answer:
        assert DIGEST not in answer.headers
        assert answer.headers[CHECKSUM].endswith("-2")

    assert store.get(key) == BIG
    assert store.head(key).sha256 == hashlib.sha256(BIG).hexdigest()


def test_bytes_that_are_not_what_their_digest_says_are_not_given_out(store: S3Store):
    key = fresh("a.bin")
    where = {"Bucket": store.settings.bucket, "Key": key}
    boto(store).put_object(Body=b"forged", Metadata={"sha256": hashlib.sha256(b"true").hexdigest()}, **where)

    with pytest.raises(DigestMismatch):
        store.get(key)


def begun(store: S3Store, *keys: str) -> None:
    """Uploads with one part on its way each, that nobody ends."""
    for key in keys:
        store.open_upload(key).part(BIG[:PART_SIZE])()


def test_uploads_are_swept_a_day_after_they_began(store: S3Store):
    now, name = datetime.now(UTC), f"ns/{secrets.token_hex(6)}"
    ours, others = [f"{name}/{number}.bin" for number in (1, 2, 3)], f"their/{secrets.token_hex(6)}.bin"
    begun(store, *ours, others)

    assert sweep(store, now + timedelta(hours=23), page=1) == 0
    assert parts_left(store, name) == ours
    assert sweep(store, now + timedelta(hours=25), page=1, most=2) == 2
    assert sweep(store, now + timedelta(hours=25), page=1) == 1
    assert parts_left(store, name) == []
    assert parts_left(store, others) == [others]


def test_an_upload_that_another_gateway_has_swept_is_no_error(store: S3Store):
    key = f"ns/{secrets.token_hex(6)}/a.bin"
    begun(store, key)
    upload_id = boto(store).list_multipart_uploads(Bucket=store.settings.bucket, Prefix=key)["Uploads"][0]["UploadId"]

    store.abort_upload(key, upload_id)
    store.abort_upload(key, upload_id)


def test_wrong_credentials_are_said_with_a_next_move(world):
    settings = S3Settings.from_env(world.env | {"AWS_SECRET_ACCESS_KEY": "wrong"})

    with pytest.raises(StoreError, match="AWS_SECRET_ACCESS_KEY"):
        S3Store(settings).put(fresh("a.txt"), b"x")


def test_a_clock_that_is_wrong_is_said_once_and_nothing_is_stored(
    store: S3Store, proxy, monkeypatch: pytest.MonkeyPatch
):
    class Slow(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) - timedelta(minutes=20)

    key = fresh("a.txt")
    proxy.order("PUT", "SlowDown", 503, where=key)
    with monkeypatch.context() as patched:
        patched.setattr(s3_client, "datetime", Slow)
        with pytest.raises(StoreError, match="clock") as refused:
            store.put(key, b"x")

    assert not isinstance(refused.value, StoreUnavailable)
    assert proxy.done == ["SlowDown"]
    assert store.put(key, b"x").created
