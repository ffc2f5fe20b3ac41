"""docs/protocols.md says where each requirement is served: every field, metric, command and link in it exists."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml
from fairtrial_analysis.report.measured import ArmRates
from fairtrial_analysis.rule.vocabulary import METRICS
from typer.main import get_command

from fairtrial.cli.app import app
from fairtrial.documents import camel
from fairtrial.events.measures import Interaction
from fairtrial.events.model import Event
from fairtrial.journal.summary import Exchange
from fairtrial.task import model as task_model
from fairtrial.usage.calls import Call

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/protocols.md"
KINDS = {
    "run": "benchmarkruns", "cohort": "benchmarkcohorts", "task": "benchmarktasks", "provider": "modelproviders",
    "class": "resourceclasses",
}  # fmt: skip


@cache
def text() -> str:
    return PAGE.read_text("utf-8")


def references() -> list[tuple[str, str]]:
    """Everything of the form `what:name`; the legend's own lines have an ellipsis."""
    found = re.findall(r"`([a-z]+):([^`…]+)`", text())
    return sorted(set(found))


def in_schema(schema: Any, root: Any, path: list[str]) -> bool:
    """Whether a JSON Schema has a place; a value with its state, a list and alternatives are looked through."""
    if not isinstance(schema, dict):
        return False
    if "$ref" in schema:
        return in_schema(root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    if not path:
        return True
    inner = schema.get("properties", {})
    if path[0] in inner and in_schema(inner[path[0]], root, path[1:]):
        return True
    within = [schema.get("items"), inner.get("value"), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(in_schema(each, root, path) for each in within if each is not None)


@cache
def schema(name: str) -> Any:
    return json.loads((ROOT / f"schemas/{name}.json").read_text())


@cache
def spec(kind: str) -> Any:
    raw = yaml.safe_load((ROOT / f"crds/{KINDS[kind]}.yaml").read_text())
    return raw["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


@cache
def commands() -> frozenset[str]:
    def named(command: Any, before: str = "") -> Iterator[str]:
        for name, inner in getattr(command, "commands", {}).items():
            yield f"{before}{name}"
            yield from named(inner, f"{before}{name} ")

    return frozenset(named(get_command(app)))


@cache
def checks() -> frozenset[str]:
    models = [each for each in vars(task_model).values() if isinstance(each, type) and each.__name__.endswith("Check")]
    kinds = [get_args(each.model_fields["kind"].annotation) for each in models if "kind" in each.model_fields]
    return frozenset(kind for one in kinds for kind in one)


def fields(kind: type) -> Callable[[str], bool]:
    names = {field.name for field in dataclasses.fields(kind)}
    return names.__contains__


EXISTS: dict[str, Callable[[str], bool]] = {
    "record": lambda name: in_schema(schema("record"), schema("record"), name.split(".")),
    "report": lambda name: in_schema(schema("report"), schema("report"), name.split(".")),
    **{kind: (lambda name, kind=kind: in_schema(spec(kind), spec(kind), name.split("."))) for kind in KINDS},
    "metric": METRICS.__contains__,
    "rate": fields(ArmRates),
    "counts": fields(Interaction),
    "event": fields(Event),
    "exchange": fields(Exchange),
    "call": fields(Call),
    "check": lambda name: name in checks(),
    "taskfile": lambda name: name in {camel(field) for field in task_model.TaskFile.model_fields},
    "cli": lambda name: name in commands(),
}


@pytest.mark.parametrize(("kind", "name"), references(), ids=lambda value: value)
def test_what_the_page_names_exists(kind: str, name: str) -> None:
    assert EXISTS[kind](name), f"`{kind}:{name}`"


@pytest.mark.parametrize(
    "name",
    ["usage.nothing", "usage.cost.nothing", "evaluation.checks.nothing", "nothing"],
)
def test_what_does_not_exist_would_be_found(name: str) -> None:
    assert not EXISTS["record"](name)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", text()):
        path, anchor = (PAGE.parent / target[0]) if target[0] else PAGE, target[1]
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"(?m)^#+ (.*)$", path.read_text("utf-8"))
            anchors = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
            assert anchor[1:] in anchors, target


def test_the_five_protocols_have_their_tables() -> None:
    parts = re.split(r"(?m)^## ", text())[1:]

    assert [part[:2] for part in parts] == ["0:", "1:", "2:", "3:", "4:"]
    assert all(part.count("\n| ") > 5 for part in parts)


def test_every_row_says_what_serves_it() -> None:
    rows = [line.strip("| ").split(" | ") for line in text().splitlines() if line.startswith("| ")]

    assert all(len(row) == 2 and all(cell.strip() for cell in row) for row in rows)


def test_every_metric_of_conduct_is_on_the_page() -> None:
    """What is measured for a protocol's sake is told on this page."""
    from fairtrial_analysis.html.sections.conduct import METRICS as CONDUCT

    named = {name for kind, name in references() if kind == "metric"}

    assert named >= CONDUCT
    assert {name for kind, name in references() if kind == "rate"} >= set(get_type_hints(ArmRates)) - {"arm"}
