"""What is a message, what is written down, and that no line is lost, whatever it is."""

import hashlib
import json

import pytest

from fairtrial.acp import lines
from fairtrial.acp.lines import Asked, Line, Splitter


def line(data: bytes, size: int | None = None) -> Line:
    return Line(data, len(data) if size is None else size, hashlib.sha256(data).hexdigest())


def said(data: bytes) -> lines.Said:
    found = lines.said(line(data))
    assert found
    return found


PERMISSION = {
    "id": 7,
    "method": "session/request_permission",
    "params": {
        "toolCall": {"toolCallId": "c1"},
        "options": [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}],
    },
}


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","id":0,"result":{}}',
        b'{"id":"a","result":null}',
        b'{"id":0,"error":{"code":1}}',
        b'{"method":"session/update","params":{}}',
        b'{"id":null,"method":"x"}',
    ],
)
def test_requests_notifications_and_answers_are_messages_and_written_down_as_they_are(message: bytes) -> None:
    assert said(b" " + message + b"\r") == lines.Said(message, json.loads(message))


@pytest.mark.parametrize(
    "other",
    [
        b"Ripgrep is not available.",
        b"\xff\xfe\x00",
        b"{",
        b"[" * 100_000,
        b'"text"',
        b"[1]",
        b"{}",
        b'{"id":[],"result":1}',  # could not be looked up
        b'{"id":true,"result":1}',  # true is 1 to Python: the answer to another question
        b'{"id":1.0,"result":1}',
        b'{"id":0}',
        b'{"id":0,"error":"no"}',
        b'{"method":[]}',
        b"9" * 5000,
    ],
)
def test_what_is_no_message_is_written_down_all_the_same_and_acted_on_by_nobody(other: bytes) -> None:
    assert said(other) == lines.Said(other)


@pytest.mark.parametrize("key", ["client", "run", "unread"])
def test_an_agent_cannot_write_the_clients_lines(key: str) -> None:
    forged = json.dumps({key: {"event": "end"}, "id": 0, "result": {}}).encode()

    found = said(forged)

    assert found.message is None
    told = json.loads(found.written)["unread"]
    assert (told["begins"], told["bytes"]) == (forged.decode(), len(forged))


def test_an_empty_line_is_nothing() -> None:
    assert lines.said(line(b" \r")) is None


def test_a_line_that_is_too_long_is_told_by_its_size_its_hash_and_its_beginning() -> None:
    splitter, long = Splitter(most=10), b"x" * 50_000

    (first, cut, last) = splitter.feed(b"0123456789\n" + long + b"\nnext\n")

    assert (first.data, first.whole, last.data) == (b"0123456789", True, b"next")
    found = lines.said(cut)
    assert found and found.message is None
    told = json.loads(found.written)["unread"]
    assert (told["bytes"], told["sha256"]) == (50_000, hashlib.sha256(long).hexdigest())
    assert len(told["begins"]) <= 2000


def test_no_more_of_a_line_is_held_than_is_allowed_however_it_comes() -> None:
    splitter = Splitter(most=10_000)

    for _ in range(1000):
        assert list(splitter.feed(b"y" * 5000)) == []
        assert len(splitter._kept) <= 10_000
    (cut,) = splitter.rest()
    assert (cut.size, cut.whole) == (5_000_000, False)


def test_lines_are_the_same_however_the_bytes_come() -> None:
    data = b'{"id":0}\n\nab\nc'
    whole = Splitter()
    expected = [*whole.feed(data), *whole.rest()]
    one = Splitter()

    found = [found for byte in data for found in one.feed(bytes([byte]))] + list(one.rest())

    assert found == expected
    assert [each.data for each in found] == [b'{"id":0}', b"", b"ab", b"c"]


@pytest.mark.parametrize(
    ("outcome", "decision"),
    [
        ({"outcome": "selected", "optionId": "yes"}, "granted"),
        ({"outcome": "selected", "optionId": "no"}, "denied"),
        ({"outcome": "cancelled"}, "cancelled"),
    ],
)
def test_an_answer_about_permission_says_what_was_decided_about_which_call(
    outcome: dict[str, str], decision: str
) -> None:
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"outcome": outcome}}

    written = json.loads(lines.sent(answer, Asked.by(PERMISSION)))

    assert written == {
        "client": answer, "to": "session/request_permission", "toolCallId": "c1", "decision": decision
    }  # fmt: skip


def test_a_request_that_is_not_in_order_is_answered_with_no_more_than_its_method_beside_it() -> None:
    asked = Asked.by({"id": 1, "method": "session/request_permission", "params": {"options": 3, "toolCall": []}})

    assert json.loads(lines.sent({"id": 1, "error": {}}, asked)) == {
        "client": {"id": 1, "error": {}},
        "to": "session/request_permission",
    }


def test_what_the_client_says_by_itself_is_an_answer_to_nothing() -> None:
    assert json.loads(lines.sent({"id": 0, "method": "initialize"}, None)) == {
        "client": {"id": 0, "method": "initialize"}
    }
