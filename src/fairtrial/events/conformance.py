"""What every adapter must keep, whatever the stream: the checks behind `fairtrial adapter check`. Pure.

The stream at hand must be understood; and damaged in any way, it must not crash the adapter or cost it events that came
before the damage.
"""

import io
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairtrial.events import model
from fairtrial.events.derive import Interactions
from fairtrial.events.measures import Interaction
from fairtrial.events.model import NOT_APPLICABLE, Event
from fairtrial.events.normalize import Counts, Normalizer
from fairtrial.events.rules import Adapter, Source

_REFERENCE = re.compile(r"(.{1,512})#([0-9]{1,18})\+([0-9]{1,18})")
_CUTS_MOST = 100  # of places where a stream is damaged, spread evenly
_SHOWN, _UNKNOWN_SHOWN, _LINE_SHOWN = 3, 10, 100

GARBAGE = (
    b"\x00\xff\xfe not json", b"{",
    b"[" * 5000, b'{"type":' + b"9" * 5000 + b"}", b'{"type":NaN,"type":1e999}', b"null",
    b'{"type":{"type":[[],{}]}}', b'"\\ud800"', b"\xc3", b"x" * 5000,
)  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """What an adapter made of streams."""

    events: tuple[Event, ...]
    counts: Counts
    interaction: Interaction


@dataclass(frozen=True)
class Finding:
    """One check and what came of it."""

    check: str
    ok: bool
    told: str = ""
    warning: bool = False  # worth a look, and no fault
    examples: list[str] = field(default_factory=list)


Streams = Mapping[str, bytes]  # by source


def take(adapter: Adapter, streams: Streams, *, root: str) -> Taken:
    """Normalize and count."""
    normalizer, counted, events = Normalizer(adapter, root=root), Interactions(adapter), []
    for source in adapter.sources:
        if source.name in streams:
            for event in normalizer.events(source, source.name, io.BytesIO(streams[source.name])):
                events.append(event)
                counted.add(event)
    return Taken(tuple(events), normalizer.counts, counted.result(normalizer.counts))


def check(adapter: Adapter, streams: Streams, *, root: str) -> Iterator[Finding]:
    """Every check, on streams that the harness has really written."""
    taken = take(adapter, streams, root=root)
    yield _something(taken)
    yield from _wellformed(taken.events, streams)
    yield _calls(taken)
    yield _unknown(adapter, taken, streams)
    yield _readable(taken)
    yield Finding("same events twice", take(adapter, streams, root=root).events == taken.events)
    for name, damage in DAMAGES.items():
        yield _damaged(adapter, streams, name, damage, root)


def _something(taken: Taken) -> Finding:
    kinds = sorted({event.kind for event in taken.events})
    return Finding("events are found", bool(taken.events), f"{len(taken.events)} events: {', '.join(kinds)}")


def _wellformed(events: Sequence[Event], streams: Streams) -> Iterator[Finding]:
    gaps = [event.sequence for number, event in enumerate(events) if event.sequence != number]
    yield Finding("sequence has no gaps", not gaps, examples=[str(gap) for gap in gaps[:_SHOWN]])
    lost = [event.raw_event_ref for event in events if not resolve(event.raw_event_ref, streams)]
    yield Finding("raw_event_ref resolves", not lost, examples=lost[:_SHOWN])
    odd = [f"{event.sequence}: {word}" for event in events for word in _odd(event)]
    yield Finding("words are of the vocabulary", not odd, examples=odd[:_SHOWN])
    times = [event.monotonic_ms for event in events if isinstance(event.monotonic_ms, int)]
    by_source = itertools.groupby((event for event in events if isinstance(event.monotonic_ms, int)), key=_artifact)
    sinking = [name for name, found in by_source if (ms := [one.monotonic_ms for one in found]) != sorted(ms, key=int)]
    yield Finding("time never goes back", not sinking, f"{len(times)} events have a time", examples=sinking)


def resolve(reference: str, streams: Streams) -> bytes:
    """The bytes that a reference names; empty if it names none."""
    found = _REFERENCE.fullmatch(reference)
    if found is None or found.group(1) not in streams:
        return b""
    start, length = int(found.group(2)), int(found.group(3))
    data = streams[found.group(1)][start : start + length]
    return data if len(data) == length else b""


def _odd(event: Event) -> Iterator[str]:
    if event.kind not in model.EVENT_KINDS:
        yield event.kind
    if event.status not in model.STATUSES:
        yield event.status
    if event.capability not in (*model.CAPABILITIES, NOT_APPLICABLE):
        yield event.capability
    if event.kind in ("tool_call", "tool_result") and event.capability == NOT_APPLICABLE:
        yield f"{event.kind} without a capability"


def _calls(taken: Taken) -> Finding:
    unpaired = [e.raw_event_ref for e in taken.events if e.kind == "tool_result" and not e.detail.paired]
    calls = sum(event.kind == "tool_call" for event in taken.events)
    results = sum(event.kind == "tool_result" for event in taken.events)
    return Finding(
        "results have their call", not unpaired, f"{calls} calls, {results} results", examples=unpaired[:_SHOWN]
    )


def _unknown(adapter: Adapter, taken: Taken, streams: Streams) -> Finding:
    """Lines of prose that mean nothing are no fault; a line of JSON that no rule knows may be something missed."""
    prose = {source.name for source in adapter.sources if source.format == "text"}
    refs = [ref for ref in taken.counts.unknown_refs if ref.partition("#")[0] not in prose]
    return Finding(
        "every line is known",
        not refs,
        f"{taken.counts.unknown} of {taken.counts.records} records are not",
        warning=True,
        examples=[
            f"{ref}: {resolve(ref, streams)[:_LINE_SHOWN].decode('utf-8', 'replace')}" for ref in refs[:_UNKNOWN_SHOWN]
        ],
    )


def _readable(taken: Taken) -> Finding:
    bad = [f"{e.raw_event_ref}: {e.detail.reason}" for e in taken.events if e.kind == model.UNREADABLE]
    return Finding("every line can be read", not bad, examples=bad[:_SHOWN])


# --- damage -----------------------------------------------------------------------------------------------------------
Damage = Callable[[bytes, int], bytes]

DAMAGES: dict[str, Damage] = {
    "cut at a line": lambda data, at: data[:at],
    "cut inside a line": lambda data, at: data[: at + 7],
    "garbage lines": lambda data, at: data[:at] + b"\n".join((b"", *GARBAGE, b"")) + data[at:],
    "a split UTF-8 character": lambda data, at: data[:at] + "é".encode()[:1] + data[at:],
    "a line twice": lambda data, at: data[:at] + data[at : _line_end(data, at)] + data[at:],
    "a line missing": lambda data, at: data[:at] + data[_line_end(data, at) :],
}


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end + 1


def _damaged(adapter: Adapter, streams: Streams, name: str, damage: Damage, root: str) -> Finding:
    faults: list[str] = []
    tried = 0
    for source in adapter.sources:
        data = streams.get(source.name)
        if not data:
            continue
        alone = replace(adapter, sources=[source])
        whole = take(alone, {source.name: data}, root=root).events
        for at in _places(data):
            tried += 1
            fault = _fault(alone, source, damage(data, at), [e for e in whole if _end(e) <= at], root)
            if fault:
                faults.append(f"{source.name}, byte {at}: {fault}")
    return Finding(f"survives {name}", not faults, f"{tried} places", examples=faults[:_SHOWN])


def _fault(adapter: Adapter, source: Source, data: bytes, before: Sequence[Event], root: str) -> str:
    try:
        found = take(adapter, {source.name: data}, root=root).events
    except Exception as error:  # noqa: BLE001 — that nothing gets through is what is checked
        return f"{type(error).__name__}: {error}"
    kept = found[: len(before)]
    if [_told(one) for one in kept] != [_told(one) for one in before]:
        lost = next(
            one for one, other in itertools.zip_longest(before, kept) if other is None or _told(one) != _told(other)
        )
        return f"event {lost.sequence} ({lost.kind}) was lost"
    wrong = [one.told or one.check for one in _wellformed(found, {source.name: data}) if not one.ok]
    return wrong[0] if wrong else ""


def _told(event: Event) -> tuple[object, ...]:
    """What must stay. Not the length of a reference: what follows may be merged into the event before it."""
    start = event.raw_event_ref.partition("+")[0]
    return event.kind, event.status, event.capability, start, event.detail.call_id


def _places(data: bytes) -> list[int]:
    """Beginnings of lines, at most `_CUTS_MOST`."""
    starts = [0, *(found.end() for found in re.finditer(rb"\n", data) if found.end() < len(data))]
    return starts[:: max(1, -(-len(starts) // _CUTS_MOST))]


def _end(event: Event) -> int:
    found = _REFERENCE.fullmatch(event.raw_event_ref)
    return int(found.group(2)) + int(found.group(3)) if found else 0


def _artifact(event: Event) -> str:
    return event.raw_event_ref.partition("#")[0]
