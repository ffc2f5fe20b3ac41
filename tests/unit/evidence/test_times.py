from datetime import UTC, datetime, timedelta, timezone

from fairtrial import documents

NOON = datetime(2026, 11, 30, 12, 0, 0, 123_456, tzinfo=UTC)


def test_a_time_is_written_in_utc_and_milliseconds():
    assert documents.written(NOON) == "2026-11-30T12:00:00.123Z"


def test_a_time_is_written_as_it_was_given_though_an_equal_one_was_written_before():
    elsewhere = NOON.astimezone(timezone(timedelta(hours=2)))

    assert (elsewhere == NOON, documents.written(NOON)) == (True, "2026-11-30T12:00:00.123Z")
    assert documents.written(elsewhere) == "2026-11-30T14:00:00.123+02:00"
