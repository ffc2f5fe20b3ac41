"""What `fairtrial adapter` does: reads adapters and streams, prints events, tables of checks and counts."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from fairtrial import documents
from fairtrial.api.adapter import BUILT_IN, Adapter, AdapterRules, built_in, built_in_text
from fairtrial.api.reading import parse
from fairtrial.archive import printable
from fairtrial.cli import output
from fairtrial.errors import InvalidInput
from fairtrial.events import conformance, model, rules
from fairtrial.events.conformance import Finding
from fairtrial.task.load import read_yaml

_STREAM_MAX = 256 * 1024 * 1024
_HOLDERS = ("spec", "candidate", "adapter")


def listing() -> None:
    """Print the built-in adapters with what they are for."""
    table = Table("adapter", "reads", "harness")
    for name in BUILT_IN:
        found = built_in(name)
        reads = ", ".join(source.file or source.read for source in found.sources)
        table.add_row(name, reads, " ".join(found.description.split()))
    output.console().print(table)


def text(which: str) -> str:
    """An adapter as it was written."""
    return built_in_text(which) if which in BUILT_IN else _file(which).read_text(encoding="utf-8")


def load(which: str) -> rules.Adapter:
    """An adapter by name or from a file, checked to the last path."""
    return rules.load(_adapter(which).to_plan(), name=which)


def normalized(which: str, streams: Sequence[str], root: str, *, summary: bool) -> None:
    """Print the events of streams, or their counts."""
    adapter = load(which)
    taken = conformance.take(adapter, _read(adapter, streams), root=root)
    if summary:
        sys.stdout.write(json.dumps(documents.to_json(taken.interaction), indent=2, ensure_ascii=False) + "\n")
        return
    for event in taken.events:
        sys.stdout.write(model.line(event, adapter.trial).decode())


def checked(which: str, streams: Sequence[str], root: str, expect: Path | None) -> int:
    """Print a table of all checks; the exit code."""
    adapter = load(which)
    data = _read(adapter, streams)
    findings = list(conformance.check(adapter, data, root=root))
    if expect is not None:
        findings.append(_as_expected(adapter, data, root, expect))
    table = Table("check", "result", "found")
    for one in findings:
        word = "ok" if one.ok else "look" if one.warning else "FAILED"
        found = "\n".join(printable(line) for line in (one.told, *one.examples) if line)
        table.add_row(one.check, word, Text(found))
    output.console().print(table)
    return int(any(not one.ok and not one.warning for one in findings))


def _as_expected(adapter: rules.Adapter, data: conformance.Streams, root: str, expect: Path) -> Finding:
    taken = conformance.take(adapter, data, root=root)
    made = [model.line(event, adapter.trial) for event in taken.events]
    wanted = _file(str(expect)).read_bytes().splitlines(keepends=True)
    if made == wanted:
        return Finding("events are as expected", ok=True, told=f"{len(wanted)} events")
    pairs = zip(made, wanted, strict=False)
    first = next((n for n, (ours, theirs) in enumerate(pairs) if ours != theirs), min(len(made), len(wanted)))
    told = f"{len(made)} events, {len(wanted)} expected; the first that differs is {first}"
    examples = [line[:300].decode("utf-8", "replace").strip() for line in [*made, b""][first : first + 1]]
    return Finding("events are as expected", ok=False, told=told, examples=examples)


def _adapter(which: str) -> Adapter | AdapterRules:
    if which in BUILT_IN:
        return built_in(which)
    raw: Any = read_yaml(_file(which))
    inside = raw
    for holder in _HOLDERS:
        if isinstance(inside, dict) and holder in inside:
            inside = inside[holder]
    if not isinstance(inside, dict):
        raise InvalidInput(f"{which}: holds no adapter.", next_move="See docs/adapters.md for what one looks like.")
    return parse(AdapterRules, raw, name=which) if inside is raw else parse(Adapter, inside, name=which)


def _read(adapter: rules.Adapter, streams: Sequence[str]) -> dict[str, bytes]:
    """The streams by source: as they are named, or else in the adapter's order."""
    names = [source.name for source in adapter.sources]
    found: dict[str, bytes] = {}
    for given in streams:
        name, equals, path = given.partition("=")
        if not equals or name not in names:
            free = [one for one in names if one not in found]
            if not free:
                raise InvalidInput(f"--stream {given}: {adapter.name} reads {len(names)} streams: {', '.join(names)}.")
            name, path = free[0], given
        file = _file(path)
        if file.stat().st_size > _STREAM_MAX:
            raise InvalidInput(f"{file}: has more than {_STREAM_MAX} bytes.", next_move="Cut it at a line's end.")
        found[name] = file.read_bytes()
    return found


def _file(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise InvalidInput(
            f"{name}: is neither a file nor a built-in adapter.", next_move="See `fairtrial adapter list` for those."
        )
    return path
