"""What the journal's documents hold, and what never gets into them."""

import json

import pytest

from fairtrial.documents import RunIdentity
from fairtrial.errors import InvalidInput
from fairtrial.journal import summary
from fairtrial.journal.exchange import (
    SECRET_HEADERS,
    exchange_id,
    is_exchange_id,
    redacted,
    redacted_target,
    session_of,
    without_secret_parameters,
)
from fairtrial.journal.summary import Exchange, ExchangeUsage

PAGE = Exchange(
    "1700000000000-0badcafe",
    RunIdentity("team", "r1", "uid"),
    "claude",
    "anthropicMessages",
    "/v1/messages",
    "2026-01-01T12:00:00.000Z",
    "complete",
)


@pytest.mark.parametrize("name", sorted(SECRET_HEADERS))
def test_a_secret_header_is_redacted_however_it_is_written(name):
    assert redacted([(name.upper(), "s3cret"), ("X", "1")]) == [[name.upper(), "[redacted]"], ["X", "1"]]


def test_order_and_doubles_of_headers_stay():
    headers = [("b", "1"), ("A", "2"), ("b", "3")]

    assert redacted(headers) == [["b", "1"], ["A", "2"], ["b", "3"]]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/v1/x?key=s3cret&alt=sse", "/v1/x?key=[redacted]&alt=sse"),
        ("/v1/x?alt=sse&key=", "/v1/x?alt=sse&key=[redacted]"),
        ("/v1/x?monkey=1&key", "/v1/x?monkey=1&key"),
        ("/v1/x?a=%2F&&b", "/v1/x?a=%2F&&b"),
        ("/v1/x", "/v1/x"),
        ("/v1/x?", "/v1/x?"),
    ],
)
def test_a_key_in_the_query_is_redacted_and_nothing_else_changes(target, expected):
    assert redacted_target(target) == expected


def test_a_callers_key_is_not_passed_on():
    assert without_secret_parameters("alt=sse&key=s3cret&a=%20") == "alt=sse&a=%20"


def test_names_of_exchanges_sort_by_time():
    early, late = exchange_id(999, b"\xff\xff\xff\xff"), exchange_id(1700000000000, b"\0\0\0\0")

    assert early < late and is_exchange_id(early) and is_exchange_id(late)
    assert not is_exchange_id(f"{late}/x")


def test_sessions_are_known_by_documented_headers_only():
    headers = [("X-Claude-Code-Session-Id", "s" * 500), ("Thread-Id", "t"), ("Authorization", "Bearer x")]

    assert session_of(headers) == {"x-claude-code-session-id": "s" * 200, "thread-id": "t"}


def test_a_page_is_written_canonically_and_read_back():
    page = PAGE.with_journal(10, "a" * 64)
    data = summary.dump(page)

    assert summary.load(data) == page
    assert data == json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode()
    assert json.loads(data)["usage"] == {
        "cacheWrite": None,
        "cachedInput": None,
        "complete": False,
        "output": None,
        "reason": "",
        "reasoning": None,
        "total": None,
        "uncachedInput": None,
    }
    assert PAGE.usage == ExchangeUsage()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"ending": "fine"}, "ending"),
        ({"surprise": 1}, "surprise"),
        ({"requestBytes": "1"}, "requestBytes"),
        ({"usage": {"output": True}}, "usage.output"),
    ],
)
def test_a_page_that_does_not_fit_is_refused_with_its_field(changes, what):
    raw = json.loads(summary.dump(PAGE)) | changes

    with pytest.raises(InvalidInput, match=what):
        summary.load(json.dumps(raw).encode())
