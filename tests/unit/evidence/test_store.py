"""Create-only writes and checked reads through every fault that a network or a store has shown."""

import base64
import hashlib

import pytest

from fairtrial.errors import Conflict, DigestMismatch, InvalidInput, NotStored, StoreError, StoreUnavailable, StoreUnfit
from fairtrial.evidence.objects import PART_SIZE, PartDigest
from fairtrial.evidence.s3_client import S3Settings
from fairtrial.evidence.store import MemoryStore, ObjectStore, Patience, S3Store

BIG = b"0123456789abcdef" * (PART_SIZE // 16) + b"and a tail"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def upload(store: ObjectStore, key: str, data: bytes, expected: str | None = None):
    upload = store.open_upload(key, sha256=expected)
    for at in range(0, len(data), 3_000_000):
        upload.write(data[at : at + 3_000_000])
    return upload.commit()


@pytest.fixture(params=["memory", "s3"])
def any_store(request, store: S3Store) -> ObjectStore:
    return MemoryStore() if request.param == "memory" else store


def test_an_object_is_made_once_and_an_equal_one_is_adopted(any_store: ObjectStore):
    first, second = any_store.put("a/b.txt", b"x"), any_store.put("a/b.txt", b"x")

    assert (first.created, second.created) == (True, False)
    assert first.sha256 == second.sha256 == sha256(b"x")
    assert any_store.get("a/b.txt") == b"x"
    assert any_store.head("a/b.txt") == second


def test_an_unequal_object_is_a_conflict_and_nothing_is_overwritten(any_store: ObjectStore):
    any_store.put("a.txt", b"x")

    with pytest.raises(Conflict) as caught:
        any_store.put("a.txt", b"y")

    assert (caught.value.ours, caught.value.theirs) == (sha256(b"y"), sha256(b"x"))
    assert any_store.get("a.txt") == b"x"


def test_a_missing_object_is_said_to_be_missing(any_store: ObjectStore):
    assert any_store.head("none.txt") is None
    with pytest.raises(NotStored):
        any_store.get("none.txt")
    with pytest.raises(NotStored):
        any_store.open("none.txt")


def test_all_keys_below_a_prefix_are_listed_over_pages(any_store: ObjectStore):
    for name in ("a/3", "a/1", "b/1", "a/2", "a/x/4", "a/5"):
        any_store.put(name, b"x")

    assert any_store.keys("a/") == ["a/1", "a/2", "a/3", "a/5", "a/x/4"]
    assert any_store.keys("c/") == []


def test_an_object_over_the_limit_is_not_read_into_memory(any_store: ObjectStore):
    any_store.put("a.txt", b"x" * 100)

    with pytest.raises(StoreError, match="100 bytes; at most 99"):
        any_store.get("a.txt", limit=99)


@pytest.mark.parametrize("data", [b"", b"small", BIG[:PART_SIZE], BIG], ids=["empty", "small", "one part", "two parts"])
def test_an_upload_of_any_size_is_what_was_sent(any_store: ObjectStore, data: bytes):
    made = upload(any_store, "a.bin", data)

    assert (made.size, made.sha256, made.created) == (len(data), sha256(data), True)
    download = any_store.open("a.bin")
    assert download.size == len(data)
    assert b"".join(download) == data
    assert not upload(any_store, "a.bin", data).created


def test_an_upload_that_differs_from_its_announced_digest_stores_nothing(any_store: ObjectStore, fake_s3):
    for data in (b"small", BIG):
        with pytest.raises(DigestMismatch):
            upload(any_store, "a.bin", data, expected=sha256(b"else"))

    assert any_store.head("a.bin") is None
    assert fake_s3.uploads == {}


def test_an_unequal_multipart_upload_is_a_conflict_and_leaves_no_parts(store: S3Store, fake_s3):
    store.put("a.bin", b"x")

    with pytest.raises(Conflict):
        upload(store, "a.bin", BIG)

    assert fake_s3.uploads == {}


def test_an_aborted_upload_leaves_nothing(store: S3Store, fake_s3):
    started = store.open_upload("a.bin")
    started.write(BIG)
    assert fake_s3.uploads

    started.abort()
    started.abort()

    assert (fake_s3.uploads, fake_s3.objects) == ({}, {})


# --- faults -----------------------------------------------------------------------------------------------------------
def test_a_lost_answer_to_our_own_write_is_a_success(store: S3Store, fake_s3):
    fake_s3.order("PutObject", "drop")

    assert store.put("a.txt", b"x").sha256 == sha256(b"x")
    assert fake_s3.calls == ["PutObject", "GetObject", "HeadObject"][:2]


def test_a_lost_answer_hides_no_conflict(store: S3Store, fake_s3):
    store.put("a.txt", b"theirs")
    fake_s3.order("PutObject", "drop_before")

    with pytest.raises(Conflict):
        store.put("a.txt", b"ours")


def test_a_lost_request_is_sent_again(store: S3Store, fake_s3, retries):
    fake_s3.order("PutObject", "drop_before")

    assert store.put("a.txt", b"x").created
    assert len(retries) == 1


def test_409_is_tried_again_and_is_no_answer(store: S3Store, fake_s3, retries):
    fake_s3.order("PutObject", "ConditionalRequestConflict", 409)

    assert store.put("a.txt", b"x").created
    assert fake_s3.calls == ["PutObject", "PutObject"]
    assert retries == ["ConditionalRequestConflict"]


@pytest.mark.parametrize(("code", "status"), [("SlowDown", 503), ("InternalError", 500), ("RequestTimeout", 400)])
def test_a_store_that_is_busy_three_times_is_waited_for(store: S3Store, fake_s3, code: str, status: int):
    fake_s3.order("PutObject", code, status, times=3)

    assert store.put("a.txt", b"x").created


def test_a_store_that_stays_busy_is_unavailable(store: S3Store, fake_s3):
    fake_s3.order("PutObject", "SlowDown", 503, times=9)

    with pytest.raises(StoreUnavailable, match="did not carry it out"):
        store.put("a.txt", b"x")


@pytest.mark.parametrize(("code", "status"), [("XMinioStorageFull", 507), ("QuotaExceeded", 403)])
def test_a_store_that_is_full_is_waited_for_and_says_so(store: S3Store, fake_s3, code: str, status: int):
    fake_s3.order("PutObject", code, status, times=9)

    with pytest.raises(StoreUnavailable, match=f"{code}.* full.*Make room"):
        store.put("a.txt", b"x")


def test_a_store_that_is_away_is_unavailable():
    settings = S3Settings(endpoint="http://127.0.0.1:1", bucket="b", access_key="a", secret_key="b")
    with pytest.raises(StoreUnavailable, match="did not answer"):
        S3Store(settings, patience=Patience(attempts=2, first_pause=0.001)).put("a.txt", b"x")


def test_412_while_nothing_lies_there_is_no_success(store: S3Store, fake_s3):
    fake_s3.order("PutObject", "PreconditionFailed", 412, times=9)

    with pytest.raises(StoreUnavailable):
        store.put("a.txt", b"x")


@pytest.mark.parametrize(
    ("code", "status", "next_move"),
    [
        ("AccessDenied", 403, "s3:PutObject"),
        ("InvalidAccessKeyId", 403, "AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", 403, "AWS_SECRET_ACCESS_KEY"),
        ("ExpiredToken", 400, "renew"),
        ("RequestTimeTooSkewed", 403, "clock"),
        ("NoSuchBucket", 404, "Create the bucket"),
    ],
)
def test_a_final_refusal_is_said_once_with_a_next_move(store: S3Store, fake_s3, code: str, status: int, next_move: str):
    fake_s3.order("PutObject", code, status)

    with pytest.raises(StoreError, match=next_move) as caught:
        store.put("a.txt", b"x")

    assert not isinstance(caught.value, StoreUnavailable)
    assert fake_s3.calls == ["PutObject"]


def test_a_store_without_conditional_writes_is_unfit(store: S3Store, fake_s3):
    fake_s3.order("PutObject", "NotImplemented", 501)

    with pytest.raises(StoreUnfit):
        store.put("a.txt", b"x")


def test_a_cut_body_is_read_again_and_never_taken_for_whole(store: S3Store, fake_s3):
    store.put("a.txt", b"x" * 1000)
    fake_s3.order("GetObject", "cut")
    assert store.get("a.txt") == b"x" * 1000

    fake_s3.order("GetObject", "cut")
    with pytest.raises(StoreUnavailable, match="cut"):
        list(store.open("a.txt"))


def test_stored_bytes_that_are_not_what_was_stored_are_never_given_out_whole(store: S3Store, fake_s3):
    store.put("a.txt", b"x" * 10)
    fake_s3.objects["a.txt"] = (b"y" * 10, fake_s3.objects["a.txt"][1])

    with pytest.raises(DigestMismatch):
        store.get("a.txt")
    with pytest.raises(DigestMismatch):
        next(store.open("a.txt"))
    with pytest.raises(DigestMismatch):
        store.put("a.txt", b"x" * 10)


def test_a_part_whose_answer_is_lost_is_sent_again(store: S3Store, fake_s3):
    fake_s3.order("UploadPart", "drop")
    fake_s3.order("UploadPart", "SlowDown", 503)

    assert upload(store, "a.bin", BIG).created
    assert store.get("a.bin") == BIG


def test_a_lost_answer_to_our_own_completion_is_a_success(store: S3Store, fake_s3):
    fake_s3.order("CompleteMultipartUpload", "drop")

    assert upload(store, "a.bin", BIG).sha256 == sha256(BIG)


def test_a_completion_that_fails_after_its_200_is_tried_again_and_is_no_success(store: S3Store, fake_s3, retries):
    fake_s3.order("CompleteMultipartUpload", "failed")

    assert upload(store, "a.bin", BIG).created
    assert retries == ["InternalError"]
    assert store.get("a.bin") == BIG


def test_half_a_listing_is_asked_for_again(store: S3Store, fake_s3, retries):
    store.put("a/1", b"x")
    fake_s3.order("ListObjectsV2", "half")

    assert store.keys("a/") == ["a/1"]
    assert retries == ["Unreadable"]


def test_an_upload_that_the_store_forgot_is_unavailable_not_stored(store: S3Store, fake_s3):
    fake_s3.order("CompleteMultipartUpload", "NoSuchUpload", 404)

    with pytest.raises(StoreUnavailable):
        upload(store, "a.bin", BIG)

    assert fake_s3.objects == {}


def test_a_failed_completion_leaves_no_parts(store: S3Store, fake_s3):
    fake_s3.order("CompleteMultipartUpload", "SlowDown", 503, times=9)

    with pytest.raises(StoreUnavailable):
        upload(store, "a.bin", BIG)

    assert fake_s3.uploads == {}


# --- settings and digests ---------------------------------------------------------------------------------------------
def test_missing_settings_are_all_named():
    with pytest.raises(InvalidInput, match="FAIRTRIAL_S3_BUCKET, AWS_SECRET_ACCESS_KEY must be set"):
        S3Settings.from_env({"FAIRTRIAL_S3_ENDPOINT": "http://x", "AWS_ACCESS_KEY_ID": "a"})


def test_settings_never_show_a_credential():
    env = {"FAIRTRIAL_S3_ENDPOINT": "http://x", "FAIRTRIAL_S3_BUCKET": "b"}
    settings = S3Settings.from_env(env | {"AWS_ACCESS_KEY_ID": "hidden1", "AWS_SECRET_ACCESS_KEY": "hidden2"})

    assert "hidden" not in repr(settings)


def test_a_composite_checksum_is_recomputed_from_the_bytes():
    digest = PartDigest(part_size=4)
    for chunk in (b"abc", b"defgh", b"ij"):
        digest.update(chunk)
    parts = b"".join(hashlib.sha256(part).digest() for part in (b"abcd", b"efgh", b"ij"))
    assert digest.hexdigest() == sha256(b"abcdefghij")
    assert digest.matches(base64.b64encode(hashlib.sha256(parts).digest()).decode() + "-3")
    assert not digest.matches(base64.b64encode(hashlib.sha256(parts).digest()).decode() + "-2")
    assert digest.matches(base64.b64encode(hashlib.sha256(b"abcdefghij").digest()).decode())
