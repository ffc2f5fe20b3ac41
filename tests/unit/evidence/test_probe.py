"""A store is taken for what it does, not for what it says."""

import json
from dataclasses import replace

import pytest

from fairtrial.errors import StoreUnavailable, StoreUnfit
from fairtrial.evidence.probe import probe
from fairtrial.evidence.store import S3Store


def test_a_store_that_keeps_its_promises_is_fit_and_its_capabilities_are_stored(store: S3Store, fake_s3):
    found = probe(store, "t1")

    assert (found.conditional_put, found.conditional_complete, found.winners) == (True, True, 1)
    assert (found.checksum_enforced, found.read_back_equal, found.object_lock) == (True, True, None)
    stored = json.loads(store.get("probe/t1/capabilities.json"))
    assert stored["conditionalPut"] is True
    assert all(key.startswith("probe/t1/") for key in fake_s3.objects)
    assert fake_s3.uploads == {}


def test_a_store_that_overwrites_is_unfit_and_every_lack_is_named(store: S3Store, fake_s3):
    fake_s3.conditions = fake_s3.checksums = False

    with pytest.raises(StoreUnfit) as caught:
        probe(store, "t1")

    for text in ("PutObject", "CompleteMultipartUpload", "8 of 8 racing", "SHA-256 checksum"):
        assert text in caught.value.message
    assert "probe/t1/capabilities.json" not in fake_s3.objects


def test_a_store_that_does_not_answer_is_not_called_unfit(store: S3Store, fake_s3):
    fake_s3.order("PutObject", "SlowDown", 503, times=99)

    with pytest.raises(StoreUnavailable):
        probe(store, "t1")


def test_retention_on_a_bucket_without_object_lock_is_refused_before_anything_is_written(store: S3Store, fake_s3):
    settings = store.settings
    store.settings = replace(settings, object_lock_days=7)
    try:
        with pytest.raises(StoreUnfit, match="has no Object Lock, but retention of 7 days"):
            probe(store, "t1")
    finally:
        store.settings = settings

    assert fake_s3.objects == {}
