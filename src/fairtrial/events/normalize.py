"""Recorded bytes and an adapter's rules make normalized events; whatever the bytes are, they are events or counted.

Memory is bounded: one record is held at a time, and of what came before only the calls that have no result yet.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Literal

from fairtrial import names
from fairtrial.events import citing, fields, model, paths, programs, reading, rules, templates
from fairtrial.events.calls import Call, Calls, Found
from fairtrial.events.model import NOT_APPLICABLE, Detail, Event
from fairtrial.events.reading import Piece
from fairtrial.events.rules import Rule, Source

_UNKNOWN_REFS = 20
_ASK_EVERY = 64  # records between two questions whether to give up
_CITING = ("search", "diagnostics", model.RUN_COMMAND, model.RUN_TESTS)

Arrival = Callable[[int], int | None]  # byte offset → ms on the recorder's clock


@dataclass(frozen=True)
class Limits:
    """How much is held and made at most."""

    record_bytes: int = 4 * 1024 * 1024  # JSON takes up to 25 times its size while it is read
    events: int = 100_000
    unreadable_events: int = 1_000
    open_calls: int = 2_000
    once_ids: int = 20_000


@dataclass
class Counts:
    """What became of the records."""

    sources: list[str] = field(default_factory=list)  # that were read
    records: int = 0
    events: int = 0
    unknown: int = 0  # read, but no rule knows them
    unknown_refs: list[str] = field(default_factory=list)  # the first of them
    unreadable: int = 0
    invalid_utf8: int = 0
    unpaired_results: int = 0
    stopped: str = ""  # why not everything was read: too_many_events, or what `give_up` said
    time_source: Literal["arrival", "stream", "not_applicable"] = (
        NOT_APPLICABLE  # the recorder's clock, or the harness's
    )


class Normalizer:
    """Normalizes the streams of one run; numbers go on from one stream to the next."""

    def __init__(self, adapter: rules.Adapter, *, root: str = names.PROJECT_DIR, limits: Limits | None = None) -> None:
        self.adapter, self.counts, self.limits = adapter, Counts(), limits or Limits()
        self.roots = [root]

    def events(
        self,
        source: Source,
        artifact: str,
        stream: BinaryIO,
        *,
        base: int = 0,
        seam: int | None = None,
        arrival: Arrival | None = None,
        give_up: Callable[[], str] = str,
    ) -> Iterator[Event]:
        """The events of one stream.

        References name `artifact`, in which the stream begins at `base`. At `seam`, a part was left out of the stream.
        `give_up` is asked now and then; it answers with the reason, or with nothing.
        """
        self.counts.sources.append(source.name)
        if source.format == "jsonDocument":
            pieces = reading.elements(reading.whole(stream), source.records, self.limits.record_bytes)
        else:
            pieces = reading.lines(stream, self.limits.record_bytes)
        one = _Stream(self, source, artifact, arrival)
        one.base = base
        for number, piece in enumerate(pieces):
            if number % _ASK_EVERY == 0 and not self.counts.stopped:
                self.counts.stopped = give_up()
            if self.counts.stopped:
                break
            yield from self._numbered(one.piece(_across(piece, seam)))
        yield from self._numbered(one.rest())

    def _numbered(self, found: Iterator[Event]) -> Iterator[Event]:
        for event in found:
            if self.counts.events >= self.limits.events:
                self.counts.stopped = "too_many_events"
                return
            self.counts.events += 1
            yield replace(event, sequence=self.counts.events - 1)


@dataclass
class _Pending:
    """An event that the lines after it may still add to."""

    event: Event
    rule: Rule
    start: int
    end: int

    def adds(self, rule: Rule, event: Event, piece: Piece) -> bool:
        """Whether the next event is more of this one."""
        same = self.rule is rule and self.event.detail.call_id == event.detail.call_id
        return same and self.end == piece.offset


class _Stream:
    """One stream while it is read."""

    def __init__(self, owner: Normalizer, source: Source, artifact: str, arrival: Arrival | None) -> None:
        self._owner, self._source, self._artifact, self._arrival = owner, source, artifact, arrival
        self._counts, self._limits, self._adapter = owner.counts, owner.limits, owner.adapter
        self._calls = Calls(owner.adapter, owner.limits.open_calls)
        self._once: dict[tuple[str, str], None] = {}
        self._pending: _Pending | None = None
        self._began: float | None = None
        self._latest = 0
        self.base = 0

    def piece(self, piece: Piece) -> Iterator[Event]:
        """The events of one record."""
        record, reason = self._read(piece)
        if reason:
            yield from self._unreadable(piece, reason)
        elif record is None:
            if self._pending and self._pending.end == piece.offset:
                self._pending.end = piece.after  # an empty line parts nothing
        else:
            try:
                found = list(self._known(record, piece))
            except RecursionError:
                found = list(self._unreadable(piece, "nested_too_deep"))
            yield from found

    def rest(self) -> Iterator[Event]:
        """What waited for the next line."""
        if self._pending:
            yield self._pending.event
            self._pending = None

    def _read(self, piece: Piece) -> tuple[Any, str]:
        if piece.data is None:
            return None, piece.reason
        try:
            text = piece.data.decode()
        except UnicodeDecodeError:
            self._counts.invalid_utf8 += 1
            text = piece.data.decode("utf-8", "replace")
        text = text.removeprefix("\ufeff").strip("\r\n\t " if self._source.format != "text" else "\r\n")
        if not text.strip():
            return None, ""
        if self._source.format == "text":
            return text, ""
        try:
            return paths.parse(text), ""
        except ValueError:
            return None, "not_json"
        except RecursionError:
            return None, "nested_too_deep"
        except MemoryError:
            return None, "too_large_for_memory"

    def _unreadable(self, piece: Piece, reason: str) -> Iterator[Event]:
        self._counts.records += 1
        self._counts.unreadable += 1
        if self._counts.unreadable <= self._limits.unreadable_events:
            yield from self.rest()
            at = self._time(None, None, None, piece)
            ref = self._ref(piece.offset, piece.length)
            yield Event(0, model.UNREADABLE, monotonic_ms=at, raw_event_ref=ref, detail=Detail(reason=reason))

    def _known(self, record: Any, piece: Piece) -> Iterator[Event]:
        self._counts.records += 1
        rules_here = [rule for rule in self._source.rules if (rule.at == "end") == piece.end]
        is_known = piece.end and not rules_here
        for each, together in itertools.groupby(rules_here, key=lambda rule: rule.each):
            if each:
                found = self._of_items(list(together), each, record, piece)
            else:
                found = self._of_record(together, record, piece)
            for events in found:
                is_known = True
                yield from events
        if not is_known:
            self._counts.unknown += 1
            if len(self._counts.unknown_refs) < _UNKNOWN_REFS:
                self._counts.unknown_refs.append(self._ref(piece.offset, piece.length))

    def _of_record(self, together: Iterable[Rule], record: Any, piece: Piece) -> Iterator[Iterator[Event]]:
        """For each rule that knows the record, what it makes of it."""
        for rule in together:
            subject = templates.compiled(rule.line).match(record) if rule.line else record
            if subject is not None and rule.holds(subject):
                yield self._made(rule, subject, None, piece)

    def _of_items(self, together: Sequence[Rule], each: str, record: Any, piece: Piece) -> Iterator[Iterator[Event]]:
        """The same item by item, so that events come in the order of the list and not in that of the rules."""
        here = [rule for rule in together if rule.holds(record)]
        items = paths.values(each, record)[: rules.MAX_ITEMS] if here else []
        if here and not items:
            yield iter(())
        for item in items:
            for rule in here:
                if rule.holds_of_item(record, item):
                    yield self._made(rule, record, item, piece)

    def _made(self, rule: Rule, record: Any, item: Any, piece: Piece) -> Iterator[Event]:
        """The event of one rule on one record or item, if it makes one."""
        ident = fields.word(paths.first(rule.id, record, item))
        if rule.kind == model.IGNORE or (rule.once and self._seen(rule, ident)):
            return
        if rule.cwd and (cwd := fields.word(paths.first(rule.cwd, record, item))).startswith("/"):
            self._owner.roots = [cwd, *self._owner.roots[-1:]]
        found = self._calls.told(rule, ident, record, item, self._owner.roots)
        if found.new:
            self._counts.unpaired_results += found.paired is False
            yield from self._push(self._event(rule, record, item, piece, ident, found), rule, piece)

    def _event(self, rule: Rule, record: Any, item: Any, piece: Piece, ident: str, found: Found) -> Event:
        call = found.call
        output = fields.text(paths.values(rule.output, record, item)) if rule.output else None
        code = call.exit_code
        status = self._status(rule, record, item, code)
        if code is None and status == "ok" and self._source.ok_means_exit_zero and call.command:
            code = 0
        is_call = rule.kind in ("tool_call", "tool_result")
        receipt: str | None = NOT_APPLICABLE
        if rule.effect_receipt:
            receipt = fields.word(paths.first(rule.effect_receipt, record, item)) or None
        return Event(
            sequence=0,
            kind=rule.kind,
            capability=(model.OTHER if is_call and call.capability == NOT_APPLICABLE else call.capability),
            monotonic_ms=self._time(rule, record, item, piece),
            status=status,
            input_hash=call.input_hash,
            output_preview=self._preview(output),
            effect_receipt=receipt,
            raw_event_ref=self._ref(piece.offset, piece.length),
            detail=Detail(
                rule=rule.name,
                call_id=ident,
                parent=call.parent,
                agent=call.agent,
                tool=call.tool,
                paths=call.paths,
                command=call.command,
                command_cut=call.command_cut,
                exit_code=code,
                paired=found.paired,
                output_bytes=None if output is None else len(output.encode("utf-8", "replace")),
                output_lines=None if output is None else len(output.splitlines()),
                truncated=paths.text_of(paths.first(rule.truncated, record, item)) == "true",
                cited=self._cited(rule, call, output),
                usage=fields.usage(rule.usage, record, item) if rule.usage else {},
                context_size=fields.integer(paths.first(rule.context_size, record, item)),
                reason=fields.word(paths.first(rule.reason, record, item)),
            ),
        )

    @staticmethod
    def _status(rule: Rule, record: Any, item: Any, code: int | None) -> str:
        if rule.status is not None:
            status = rule.status.of(record, item)
        else:
            status = "started" if rule.kind == "tool_call" else NOT_APPLICABLE
        if code and status in ("ok", "unknown", NOT_APPLICABLE):
            return "error"  # whatever the harness calls it: the command said that it failed
        return "ok" if code == 0 and status in ("unknown", NOT_APPLICABLE) else status

    def _preview(self, output: str | None) -> str:
        if output is None:
            return NOT_APPLICABLE
        return model.REDACTED if self._adapter.redact_previews else output[: model.PREVIEW_CHARACTERS]

    def _cited(self, rule: Rule, call: Call, output: str | None) -> tuple[str, ...]:
        if rule.kind != "tool_result" or output is None or call.capability not in _CITING:
            return ()
        is_search = call.capability == "search" or programs.searches(call.command)
        found = citing.searched(output) if is_search else citing.diagnosed(output)
        return fields.located(found, self._owner.roots)

    def _time(self, rule: Rule | None, record: Any, item: Any, piece: Piece) -> Any:
        """Never earlier than the event before: what a harness writes as a message's time may be when it began."""
        now: float | None = None
        if self._arrival is not None:
            now, self._counts.time_source = self._arrival(piece.offset + max(piece.length - 1, 0)), "arrival"
        elif time := (rule and rule.time) or self._source.time:
            now = fields.milliseconds(time, record, item)
            if now is not None:
                self._began = now if self._began is None else self._began
                now, self._counts.time_source = now - self._began, "stream"
        if now is None:
            return NOT_APPLICABLE
        self._latest = max(self._latest, round(now))
        return self._latest

    def _seen(self, rule: Rule, ident: str) -> bool:
        key = (rule.name, ident)
        if key in self._once:
            return True
        self._once[key] = None
        if len(self._once) > self._limits.once_ids:
            self._once.pop(next(iter(self._once)))
        return False

    def _push(self, event: Event, rule: Rule, piece: Piece) -> Iterator[Event]:
        """The event, at once or when no line can add to it any more."""
        waiting = self._pending
        if rule.merge and waiting and waiting.adds(rule, event, piece):
            waiting.event, waiting.end = self._merged(waiting, event, piece), piece.after
            return
        yield from self.rest()
        if rule.merge:
            self._pending = _Pending(event, rule, piece.offset, piece.after)
        else:
            yield event

    def _merged(self, waiting: _Pending, event: Event, piece: Piece) -> Event:
        first, preview = waiting.event, waiting.event.output_preview
        if not self._adapter.redact_previews and NOT_APPLICABLE not in (preview, event.output_preview):
            between = "\n" if self._source.format == "text" else ""
            preview = (preview + between + event.output_preview)[: model.PREVIEW_CHARACTERS]
        counted = (first.detail.output_bytes or 0) + (event.detail.output_bytes or 0)
        detail = replace(first.detail, output_bytes=counted, output_lines=None)
        ref = self._ref(waiting.start, piece.offset + piece.length - waiting.start)
        return replace(first, output_preview=preview, raw_event_ref=ref, detail=detail)

    def _ref(self, offset: int, length: int) -> str:
        return f"{self._artifact}#{self.base + offset}+{length}"


def _across(piece: Piece, seam: int | None) -> Piece:
    """A record that a part is missing from is not one."""
    if seam is None or not piece.offset < seam < piece.offset + piece.length:
        return piece
    return replace(piece, data=None, reason="part_was_not_kept")
