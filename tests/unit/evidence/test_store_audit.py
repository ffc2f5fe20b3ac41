"""What the store says of versions, deletions, locks and listings, judged; a real server is asked elsewhere."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from fairtrial.evidence.s3_xml import Retention, Unreadable, Version, retention, versions
from fairtrial.evidence.store_audit import MEANINGS, Code, Finding, of_listing, of_lock, of_versions

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_an_object_that_was_written_once_is_no_finding():
    assert list(of_versions([Version("a", "1", False), Version("b", "2", False)])) == []


def test_an_object_that_was_written_again_is_told():
    assert list(of_versions([Version("a", "1", False), Version("a", "2", False)])) == [
        Finding("a", "VERSION_OVERWRITE", "It has 2 versions.")
    ]


@pytest.mark.parametrize(
    ("left", "says"), [(0, "It was deleted; no versions of it left."), (1, "It was deleted; 1 version of it left.")]
)
def test_an_object_that_was_deleted_is_told_with_what_is_left_of_it(left: int, says: str):
    listed = [Version("a", str(number), False) for number in range(left)] + [Version("a", "m", True)]

    assert list(of_versions(listed)) == [Finding("a", "DELETE_MARKER", says)]


def test_what_is_not_listed_is_asked_for_by_its_key():
    found = list(of_listing({"a", "b", "c"}, {"a"}, lambda key: key == "b"))

    assert [(one.key, one.code) for one in found] == [("b", "LISTING_INCOMPLETE"), ("c", "OBJECT_MISSING")]


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (Retention("COMPLIANCE", NOW + timedelta(days=2)), []),
        (None, ["It has no retention."]),
        (Retention("GOVERNANCE", NOW + timedelta(days=9)), ["Its retention is GOVERNANCE, which a right can shorten."]),
        (Retention("COMPLIANCE", NOW), ["Its retention ends at 2026-01-01T00:00:00Z."]),
    ],
)
def test_a_lock_that_somebody_can_get_round_is_weak(held: Retention | None, says: list[str]):
    found = list(of_lock("a", held, NOW + timedelta(days=1)))

    assert [one.says for one in found] == says
    assert all(one.code == "LOCK_WEAK" for one in found)


def test_every_code_has_a_meaning():
    assert set(MEANINGS) == set(get_args(Code))


def test_a_page_of_versions_is_read_with_where_the_next_one_begins():
    page, after = versions(
        b"<ListVersionsResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><EncodingType>url</EncodingType>"
        b"<IsTruncated>true</IsTruncated><NextKeyMarker>a%2Bb</NextKeyMarker><NextVersionIdMarker>7</NextVersionIdMarker>"
        b"<Version><Key>a%2Bb</Key><VersionId>7</VersionId></Version>"
        b"<DeleteMarker><Key>c</Key><VersionId>8</VersionId></DeleteMarker></ListVersionsResult>"
    )

    assert page == [Version("a+b", "7", False), Version("c", "8", True)]
    assert after == {"key-marker": "a+b", "version-id-marker": "7"}


def test_a_retention_without_a_time_is_no_answer():
    with pytest.raises(Unreadable):
        retention(b"<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>soon</RetainUntilDate></Retention>")


def test_the_page_for_auditors_has_every_code_with_its_meaning():
    page = Path(__file__).parents[3].joinpath("docs/audit.md").read_text("utf-8")

    for code, meaning in MEANINGS.items():
        assert f"| `{code}` | {meaning} |" in page
