"""Server-sent events come out the same however the stream is cut."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairtrial.wires.sse import Decoder, Event


def _decode(chunks: list[bytes], max_event: int = 1000) -> list[Event]:
    decoder = Decoder(max_event)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    last = decoder.finish()
    return [*events, last] if last else events


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\r\rdata: b\r\n\r\n", [("", "a"), ("", "b")]),
        (b"event: x\r\ndata: a\r\ndata: b\r\n\r\n", [("x", "a\nb")]),
        (b"data:  two spaces\n\n", [("", " two spaces")]),
        (b": comment\nid: 1\nretry: 5\ndata: a\n\n", [("", "a")]),
        (b"event: lonely\n\ndata: a\n\n", [("", "a")]),  # no data, no event; its name is forgotten
        (b"data\n\n", [("", "")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        ("data: \N{EURO SIGN}\U0001f600\n\n".encode(), [("", "\N{EURO SIGN}\U0001f600")]),
        (b"data: \xff\n\n", [("", "\N{REPLACEMENT CHARACTER}")]),
        (b"database: no\ndata: a\n\n", [("", "a")]),
        (b"\n\n\n", []),
        (b"", []),
    ],
)
def test_events_as_the_standard_has_them(stream: bytes, expected: list[tuple[str, str]]):
    assert [(event.name, event.data) for event in _decode([stream])] == expected
    assert _decode([bytes([byte]) for byte in stream]) == _decode([stream])


_LINES = st.sampled_from(
    ["data: ", "data:", "event: e", ":c", "x", "\N{EURO SIGN}", "\r", "\n", "\r\n", "\n\n", "\ufeff", "id: 7", "y" * 30]
)


@settings(max_examples=150, deadline=None)
@given(
    stream=st.lists(_LINES, max_size=30).map(lambda lines: "".join(lines).encode()),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    limit=st.sampled_from([20, 64, 1000]),
)
@example(stream=b"event: edata: data: data: \r", cuts=[1], limit=20)
def test_any_chunking_gives_the_same_events(stream: bytes, cuts: list[int], limit: int):
    edges = sorted({min(cut, len(stream)) for cut in cuts})
    chunks = [stream[start:end] for start, end in zip([0, *edges], [*edges, len(stream)], strict=True)]
    assert _decode(chunks, limit) == _decode([stream], limit)


def test_a_stream_cut_within_an_event_tells_what_came():
    assert _decode([b"data: a\n\ndata: b\nda"]) == [Event("", "a"), Event("", "b", unfinished=True)]
    assert _decode([b'data: {"a": 1}']) == [Event("", '{"a": 1}', unfinished=True)]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 5000 + b"\n\n", b"data: xxxxxxxx\n" * 500 + b"\n"])
def test_an_event_over_the_limit_is_told_and_the_stream_goes_on(stream: bytes):
    assert _decode([stream, b"data: b\n\n"]) == [Event("", "", oversize=True), Event("", "b")]


def test_memory_is_bounded():
    decoder = Decoder(1000)
    for _ in range(5000):
        decoder.feed(b"data: never ends " * 10)
        assert len(decoder._partial) + len(decoder._data) <= 1000
    for _ in range(5000):
        decoder.feed(b"data: x\n")
        assert len(decoder._partial) + len(decoder._data) <= 1000
