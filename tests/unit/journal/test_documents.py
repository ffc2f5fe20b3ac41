"""What the journal's documents hold, and what never gets into them."""

import json

import pytest

from fairtrial.documents import RunIdentity
from fairtrial.errors import InvalidInput
from fairtrial.journal import summary
from fairtrial.journal.exchange import exchange_id, is_exchange_id, session_of
from fairtrial.journal.summary import Exchange, Leak, Scan

PAGE = Exchange(
    "1700000000000-0badcafe",
    RunIdentity("team", "r1", "uid"),
    "claude",
    "anthropicMessages",
    "/v1/messages",
    "2026-01-01T12:00:00.000Z",
    "complete",
)


def test_names_of_exchanges_sort_by_time():
    early, late = exchange_id(999, b"\xff\xff\xff\xff"), exchange_id(1700000000000, b"\0\0\0\0")

    assert early < late and is_exchange_id(early) and is_exchange_id(late)
    assert not is_exchange_id(f"{late}/x")


def test_sessions_are_known_by_documented_headers_only():
    headers = [("X-Claude-Code-Session-Id", "s" * 500), ("Thread-Id", "t"), ("Authorization", "Bearer x")]

    assert session_of(headers) == {"x-claude-code-session-id": "s" * 200, "thread-id": "t"}


def test_a_page_is_written_canonically_and_read_back():
    leak = Leak("credential", "base64", "response_body", 7)
    page = PAGE.scanned(Scan("b" * 64, "c" * 64, [leak])).with_journal(10, "a" * 64)
    data = summary.dump(page)

    assert summary.load(data) == page
    assert data == json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode()
    assert json.loads(data)["usage"]["counters"]["output"] is None


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"ending": "fine"}, "ending"),
        ({"surprise": 1}, "surprise"),
        ({"requestBytes": "1"}, "requestBytes"),
        ({"usage": {"counters": {"output": True}}}, "usage.counters.output"),
    ],
)
def test_a_page_that_does_not_fit_is_refused_with_its_field(changes, what):
    raw = json.loads(summary.dump(PAGE)) | changes

    with pytest.raises(InvalidInput, match=what):
        summary.load(json.dumps(raw).encode())
