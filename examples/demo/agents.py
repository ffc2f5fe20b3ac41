"""`make demo AGENT=…`: a real agent of examples/agents, and what its record says of the model that it used."""

from pathlib import Path
from typing import Any

from rich.table import Table

from examples import render
from examples.demo.install import ROOT
from fairtrial.api import RecordReference
from fairtrial.cli.records import read_record
from fairtrial.evidence import layout
from fairtrial.evidence.record_model import Record, load_record
from fairtrial.evidence.store import ObjectStore
from fairtrial.evidence.value import Value

AGENTS = ROOT / "examples" / "agents"


def run_file(name: str) -> Path:
    """The file with an agent's example run."""
    file = AGENTS / name / "run.yaml"
    if not file.exists():
        known = ", ".join(sorted(path.parent.name for path in AGENTS.glob("*/run.yaml")))
        raise SystemExit(f"error: no agent {name!r} in examples/agents; there are {known}.")
    return file


def run_of(images: dict[str, str], name: str) -> dict[str, Any]:
    """An agent's example run with its image pinned."""
    (run,) = render.render_file(run_file(name), images)
    return run


def task_of(run: dict[str, Any]) -> str:
    """The folder of the task that a run is about."""
    return str(run["spec"]["taskRef"]["name"]).rpartition("-v")[0]


def used(store: ObjectStore, run: dict[str, Any]) -> Table:
    """What the run's record says of its model calls and of what the agent did, read from the store and checked."""
    named = RecordReference.model_validate(run["status"]["record"])
    record = load_record(read_record(store, named), name=named.uri)
    events = record.interaction.events
    lines = 0
    if events:
        base = layout.RunLayout(layout.key_of_uri(named.uri).removesuffix("/record.json"))
        lines = store.get(base.artifact(events.name)).count(b"\n")
    table = Table(title="What it used and did", title_justify="left", box=None, pad_edge=False, show_header=False)
    for name, text in facts(record, lines):
        table.add_row(name, text)
    return table


def facts(record: Record, events: int) -> list[tuple[str, str]]:
    """Pairs of what is counted and the count, or the reason why there is none. Pure."""
    usage, did = record.usage, record.interaction
    return [
        ("model calls", f"{told(usage.model_calls)}, answered {told(usage.answered_calls)}"),
        ("answered by", told(usage.answered_models)),
        ("input tokens", f"{told(usage.uncached_input_tokens)} uncached, {told(usage.cached_input_tokens)} cached"),
        ("output tokens", f"{told(usage.output_tokens)}, reasoning {told(usage.reasoning_tokens)}"),
        ("cost", f"{told(usage.cost)} {told(usage.currency)}, prices of {told(usage.pricing_snapshot)}"),
        ("tool calls", f"{told(did.tool_calls)} in {told(did.assistant_turns)} turns"),
        ("events", str(events)),
    ]


def told(value: Value[Any]) -> str:
    """A value as people read it."""
    if value.state != "measured":
        return f"({value.state}: {value.reason})"
    return ", ".join(map(str, value.value)) if isinstance(value.value, tuple) else str(value.value)
