"""A store whose disk is really full: what it is told as, and that nothing is lost when there is room again."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairtrial.errors import NotStored, StoreUnavailable
from fairtrial.evidence.objects import PART_SIZE
from fairtrial.evidence.store import Patience, S3Settings, S3Store
from local_cluster import s3
from local_cluster.s3 import Credentials
from tests.own_s3 import SmallDisk, serving, small_disk

ROOT = Credentials("root", secrets.token_urlsafe(24))
MEGABYTES = PART_SIZE // 2**20 * 3
FULL = "InsufficientStorage.* full.*Make room"


@dataclass
class Small:
    disk: SmallDisk
    store: S3Store


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    with small_disk(tmp_path, MEGABYTES) as disk, serving(tmp_path, ROOT) as url:
        s3.client_at(url, ROOT).create_bucket(Bucket="small")
        settings = S3Settings(endpoint=url, bucket="small", access_key=ROOT.access_key, secret_key=ROOT.secret_key)
        store = S3Store(settings, patience=Patience(attempts=2, first_pause=0.01))
        yield Small(disk, store)
        store.close()


def test_a_full_disk_is_told_with_the_next_move_and_room_is_enough(small: Small) -> None:
    small.disk.fill()
    with pytest.raises(StoreUnavailable, match=FULL):
        small.store.put("a.txt", b"evidence")
    with pytest.raises(NotStored):
        small.store.get("a.txt")

    small.disk.clear()

    small.store.put("a.txt", b"evidence")
    assert small.store.get("a.txt") == b"evidence"


def test_what_no_longer_fits_in_the_middle_of_an_upload_is_not_there_at_all(small: Small) -> None:
    upload = small.store.open_upload("large.bin")
    upload.write(bytes(PART_SIZE))
    small.disk.fill()

    with pytest.raises(StoreUnavailable, match=FULL):
        upload.write(bytes(PART_SIZE))
    upload.abort()

    assert small.store.head("large.bin") is None
    small.disk.clear()
    again = small.store.open_upload("large.bin")
    again.write(b"x" * (PART_SIZE + 1))
    assert again.commit().size == PART_SIZE + 1
    assert small.store.get("large.bin") == b"x" * (PART_SIZE + 1)
