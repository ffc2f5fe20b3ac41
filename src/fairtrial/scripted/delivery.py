"""How an answer goes over the wire: status, headers, chunks, pauses, and whatever a fault does to them.

Pure: `deliver` decides everything; the server only sends what it says, when it says it.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from fairtrial.scripted import dialects
from fairtrial.scripted.choose import Answer, ToolCall
from fairtrial.scripted.conversation import Conversation
from fairtrial.scripted.faults import Fault
from fairtrial.scripted.script import Pace

_JSON, _SSE = "application/json", "text/event-stream; charset=utf-8"
_BLANK = 1 << 20
SPLIT_CHARS = 7  # of a canary that is split over chunks: short enough that no chunk holds much of it
FILLER = "and so on, "


@dataclass(frozen=True)
class Repeat:
    """A chunk that is sent again and again: `times` or, if None, until the client goes away."""

    index: int
    chunk: bytes
    times: int | None
    ms: int


@dataclass(frozen=True)
class Delivery:
    """What to send. `cut_at` aborts the connection before the chunk at that place, `pause_at` waits there."""

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...]
    chunked: bool
    ms: int = 0
    first_ms: int = 0
    cut_at: int | None = None
    pause_at: int | None = None  # -1: before the headers
    pause_seconds: float = 0
    repeat: Repeat | None = None
    padding: bytes = b""  # a megabyte of nothing, already compressed …
    padding_times: int = 0  # … sent so often, before the chunks


@dataclass(frozen=True)
class _Draft:
    """An answer while a fault works on it."""

    answer: Answer
    pace: Pace
    headers: dict[str, str] = field(default_factory=dict)


def deliver(
    conversation: Conversation, answer: Answer, fault: Fault | None, pace: Pace, headers: Mapping[str, str]
) -> Delivery:
    """Decide what is sent for `answer` when it meets `fault`. `headers` are the request's, for a fault that echoes."""
    if fault and fault.kind == "status":
        assert fault.status
        return refused(conversation.wire, fault.status, fault.message or "A fault of the script.", fault.retry_after)
    draft = _Draft(answer, pace)
    if fault:
        draft = _spoilt(draft, fault, headers)
    if conversation.stream and conversation.wire != dialects.COUNT_TOKENS:
        whole = _stream(conversation, draft, fault)
    else:
        whole = _body(conversation, draft, fault)
    return _damaged(whole, fault) if fault else whole


def refused(wire: str, status: int, message: str, retry_after: str | int | None = None) -> Delivery:
    """An error in the dialect of the wire."""
    headers = {"Content-Type": _JSON}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return Delivery(status, headers, (dialects.error(wire, status, message),), chunked=False)


def _spoilt(draft: _Draft, fault: Fault, headers: Mapping[str, str]) -> _Draft:
    """Faults of what is said."""
    answer = draft.answer
    match fault.kind:
        case "truncated_tool_json" | "extra_arguments" | "wrong_types":
            calls = tuple(_spoilt_call(call, fault.kind) for call in answer.calls)
            return replace(draft, answer=replace(answer, calls=calls))
        case "empty_answer":
            return replace(draft, answer=replace(answer, text="", calls=()))
        case "wrong_model":
            return replace(draft, answer=replace(answer, model=fault.model or ""))
        case "no_usage":
            return replace(draft, answer=replace(answer, usage=None))
        case "echo":
            text = f"{answer.text} {_echo(fault, headers)}".lstrip()
            chars = min(draft.pace.chars, SPLIT_CHARS) if fault.form == "split" else draft.pace.chars
            return replace(
                draft, answer=replace(answer, text=text), pace=draft.pace.model_copy(update={"chars": chars})
            )
        case "endless" | "long":
            return replace(draft, answer=replace(answer, text=_filled(answer.text, draft.pace.chars)))
        case "split_utf8" if not any(ord(one) > 127 for one in answer.text):  # noqa: PLR2004
            return replace(draft, answer=replace(answer, text=f"{answer.text} déjà vu — 日本".lstrip()))
        case "huge_header":
            return replace(draft, headers={"X-Padding": "x" * (fault.bytes or 1)})
    return draft


def _filled(text: str, chars: int) -> str:
    """`text` and one more piece of it that is filler and nothing else, to be said again."""
    filler = FILLER * -(-chars // len(FILLER))
    return text.ljust(-(-len(text) // chars) * chars) + filler[:chars]


def _spoilt_call(call: ToolCall, kind: str) -> ToolCall:
    if kind == "truncated_tool_json":
        return replace(call, arguments=call.arguments[: max(1, len(call.arguments) * 2 // 3)].rstrip("}"))
    arguments = json.loads(call.arguments)
    if kind == "extra_arguments":
        arguments["unexpected_argument"] = {"nested": [True, None, 1.5]}
    else:
        arguments = {name: 7 if isinstance(value, str) else "seven" for name, value in arguments.items()}
    return replace(call, arguments=json.dumps(arguments, ensure_ascii=False))


def _echo(fault: Fault, headers: Mapping[str, str]) -> str:
    secret = fault.text or headers.get(fault.header or "", "")
    if fault.form == "base64":
        return base64.b64encode(secret.encode()).decode()
    if fault.form == "percent":
        return "".join(f"%{byte:02X}" for byte in secret.encode())
    return secret


def _stream(conversation: Conversation, draft: _Draft, fault: Fault | None) -> Delivery:
    events = dialects.events(conversation, draft.answer, draft.pace.chars)
    repeat = None
    if fault and fault.kind in {"endless", "long"}:
        index = max(number for number, event in enumerate(events) if event.is_text)
        ms = draft.pace.ms if fault.ms is None else fault.ms
        times = -(-(fault.bytes or 1) // draft.pace.chars) if fault.kind == "long" else None
        repeat = Repeat(index, events[index].data, times, ms)
    return Delivery(
        status=200,
        headers={"Content-Type": _SSE if conversation.framed else _JSON, "Cache-Control": "no-cache", **draft.headers},
        chunks=tuple(event.data for event in events),
        chunked=True,
        ms=draft.pace.ms,
        first_ms=draft.pace.first_ms,
        repeat=repeat,
    )


def _body(conversation: Conversation, draft: _Draft, fault: Fault | None) -> Delivery:
    body = dialects.body(conversation, draft.answer)
    headers = {"Content-Type": _JSON, **draft.headers}
    if fault and fault.kind in {"endless", "long"}:  # white space may stand before a JSON text, as much as you like
        blank = b" " * 1000
        times = -(-(fault.bytes or 1) // len(blank)) if fault.kind == "long" else None
        repeat = Repeat(0, blank, times, fault.ms if fault.ms is not None else draft.pace.ms)
        return Delivery(200, headers, (blank, body), chunked=True, first_ms=draft.pace.first_ms, repeat=repeat)
    return Delivery(200, headers, (body,), chunked=False, first_ms=draft.pace.first_ms)


def _damaged(whole: Delivery, fault: Fault) -> Delivery:
    """Faults of how it is sent."""
    match fault.kind:
        case "empty_body":
            return replace(whole, chunks=(), chunked=False)
        case "malformed_body":
            return replace(whole, chunks=_malformed(whole))
        case "truncated_stream":
            return _cut(whole, fault)
        case "silence":
            at = -1 if fault.after_events is None else fault.after_events
            return replace(whole, pause_at=at, pause_seconds=float(fault.seconds or 0))
        case "gzip":
            return _compressed(whole)
        case "gzip_bomb":
            return _bomb(whole, fault.bytes or 1)
        case "split_utf8":
            return replace(whole, chunks=tuple(_split(b"".join(whole.chunks))), chunked=True, ms=max(1, whole.ms))
    return whole


def _malformed(whole: Delivery) -> tuple[bytes, ...]:
    if not whole.chunked:
        return (whole.chunks[0][: len(whole.chunks[0]) // 2],)
    middle = len(whole.chunks) // 2
    broken = whole.chunks[middle].rstrip(b"\n")
    return (*whole.chunks[:middle], broken[: len(broken) * 2 // 3] + b"\n\n", *whole.chunks[middle + 1 :])


def _cut(whole: Delivery, fault: Fault) -> Delivery:
    if not whole.chunked:  # half of a body whose full length was announced
        body = whole.chunks[0]
        half = len(body) // 2
        headers = {**whole.headers, "Content-Length": str(len(body))}
        return replace(whole, headers=headers, chunks=(body[:half], body[half:]), chunked=True, cut_at=1)
    at = len(whole.chunks) // 2 if fault.after_events is None else fault.after_events
    return replace(whole, cut_at=min(at, len(whole.chunks)))


def _compressed(whole: Delivery, before: bytes = b"") -> Delivery:
    """Each chunk is flushed, so that a reader which decompresses as it goes sees what an uncompressed one would."""
    packer = zlib.compressobj(wbits=31)
    chunks = [packer.compress(before + whole.chunks[0]) + packer.flush(zlib.Z_SYNC_FLUSH)] if whole.chunks else []
    chunks += [packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH) for chunk in whole.chunks[1:]]
    headers = {**whole.headers, "Content-Encoding": "gzip"}
    return replace(whole, headers=headers, chunks=(*chunks, packer.flush()), chunked=True)


def _bomb(whole: Delivery, size: int) -> Delivery:
    """A gzip member of `size` spaces before the answer: in JSON nothing, in a stream a comment."""
    lead, tail = (b": ", b"\n\n") if whole.chunked and whole.headers["Content-Type"] == _SSE else (b"", b"")
    rest = _compressed(whole, before=tail)
    first = zlib.compressobj(wbits=31)
    opening = first.compress(lead + b" " * min(size, _BLANK)) + first.flush()
    blank = zlib.compressobj(wbits=31)
    padding = blank.compress(b" " * _BLANK) + blank.flush()  # members one after another are one gzip file
    return replace(rest, chunks=(opening, *rest.chunks), padding=padding, padding_times=max(0, -(-size // _BLANK) - 1))


def _split(data: bytes) -> Iterator[bytes]:
    """Cut inside every character that has more than one byte."""
    start = 0
    for at in range(1, len(data)):
        if data[at] & 0xC0 == 0x80 and data[at - 1] & 0xC0 == 0xC0:  # noqa: PLR2004 — the first continuation byte
            yield data[start:at]
            start = at
    yield data[start:]
