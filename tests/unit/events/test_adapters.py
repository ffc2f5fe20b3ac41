"""The built-in adapters on what the real programs wrote, and that people's models and the recorder's agree."""

import dataclasses
import json
import typing

import pytest
from pydantic import ValidationError

from fairtrial.api import adapter as api
from fairtrial.api.crd import _structural
from fairtrial.errors import InvalidInput
from fairtrial.events import conformance, measures, model, rules
from tests.unit.events import cases


@pytest.mark.parametrize("case", cases.CASES)
def test_a_built_in_adapter_gives_the_expected_events(case):
    adapter = cases.adapter(cases.CASES[case][0])

    taken = conformance.take(adapter, cases.streams(case), root=cases.ROOT)

    made = [json.loads(model.line(event, adapter.trial)) for event in taken.events]
    wanted = [json.loads(line) for line in (cases.FOLDER / case / "expected.jsonl").read_text().splitlines()]
    assert made == wanted


@pytest.mark.parametrize("case", cases.CASES)
def test_a_built_in_adapter_passes_its_own_conformance_suite(case):
    adapter = cases.adapter(cases.CASES[case][0])

    findings = list(conformance.check(adapter, cases.streams(case), root=cases.ROOT))

    assert [one for one in findings if not one.ok] == []


def test_every_built_in_adapter_has_a_session():
    assert {name for name, _ in cases.CASES.values()} == set(api.BUILT_IN)


TOOLS = (
    "claude-code",
    "codex",
    "gemini-cli",
    "mini-swe-agent",
    "opencode",
    "otel-genai-pydantic-ai",
    "pi",
    "pi-1.6",
    "acp-claude-code",
    "acp-codex",
    "acp-gemini",
    "acp-opencode",
)


@pytest.mark.parametrize("case", TOOLS)
def test_the_same_session_gives_the_same_counts_whatever_the_harness(case):
    taken = conformance.take(cases.adapter(cases.CASES[case][0]), cases.streams(case), root=cases.ROOT).interaction

    assert [one.path for one in taken.inspected] == ["calc.py"]
    assert [one.path for one in taken.modified] == ["calc.py"]
    assert taken.failed_tool_calls.value["total"] == 0 and taken.retries.value == 0
    assert taken.session_end.value["status"] == "ok"
    assert taken.tool_calls.value["total"] == (4 if case == "mini-swe-agent" else 3)


def test_a_session_of_the_agent_client_protocol_says_where_it_works_wherever_that_is():
    taken = conformance.take(cases.adapter("acp"), cases.streams("acp-gemini"), root="/elsewhere").interaction

    assert [one.path for one in taken.modified] == ["calc.py"]
    assert taken.approvals.value == {"requested": 2, "granted": 2, "denied": 0, "unknown": 0}


def test_a_task_can_name_its_own_test_command():
    plan = api.Adapter(name="pi", test_commands=("python3 test_calc.py",)).to_plan()
    adapter = rules.load(plan)

    taken = conformance.take(adapter, cases.streams("pi"), root=cases.ROOT).interaction

    assert taken.test_commands.value == {"total": 1, "passed": 1, "failed": 0, "unknown": 0}
    assert (taken.tests[0].exit_code, taken.tests[0].duration_ms) == (0, 32)


def test_a_call_and_a_result_of_one_record_at_one_moment_took_no_known_time():
    (test,) = conformance.take(cases.adapter("atif"), cases.streams("atif"), root=cases.ROOT).interaction.tests

    assert test.duration_ms is None


def test_a_result_in_atif_that_names_no_call_is_the_only_ones_and_nobodys_of_several():
    trajectory = json.loads(cases.streams("atif-harbor")["events"])
    first = next(step for step in trajectory["steps"] if "tool_calls" in step)
    first["tool_calls"].append(first["tool_calls"][0] | {"tool_call_id": "another"})
    data = json.dumps(trajectory).encode()

    kinds = [
        [event.kind for event in conformance.take(cases.adapter("atif"), {"events": each}, root=cases.ROOT).events]
        for each in (cases.streams("atif-harbor")["events"], data)
    ]

    assert [(found.count("tool_call"), found.count("tool_result")) for found in kinds] == [(4, 4), (5, 3)]
    assert kinds[1].count("notice") == kinds[0].count("notice") + 1, "what it says is kept all the same"


def broken(monkeypatch, found):
    monkeypatch.setattr(conformance, "Normalizer", found)
    adapter = cases.adapter("codex")
    return {one.check for one in conformance.check(adapter, cases.streams("codex"), root=cases.ROOT) if not one.ok}


def test_the_suite_notices_what_it_is_there_for(monkeypatch):
    real = conformance.Normalizer

    def wrapped(change):
        class Wrapped(real):
            def events(self, source, artifact, stream, **more):
                yield from change(list(super().events(source, artifact, stream, **more)), stream)

        return Wrapped

    def replaced(**changes):
        return lambda events, _: [dataclasses.replace(one, **changes) for one in events]

    def crash(events, stream):
        if b"\xff" in stream.getvalue():
            raise ValueError("hostile")
        return events

    def forgetful(events, stream):
        """Loses its second event where the end is missing, and tells nobody."""
        kept = events if b"turn.completed" in stream.getvalue() else events[:1] + events[2:]
        return [dataclasses.replace(one, sequence=number) for number, one in enumerate(kept)]

    assert broken(monkeypatch, wrapped(lambda events, _: events[:1] + events[2:])) >= {"sequence has no gaps"}
    assert broken(monkeypatch, wrapped(replaced(raw_event_ref="events#0+99999999"))) >= {"raw_event_ref resolves"}
    assert broken(monkeypatch, wrapped(replaced(status="fine"))) >= {"words are of the vocabulary"}
    assert broken(monkeypatch, wrapped(crash)) == {"survives garbage lines"}
    assert broken(monkeypatch, wrapped(forgetful)) >= {"survives cut at a line"}
    assert broken(monkeypatch, wrapped(lambda *_: [])) == {"events are found"}


def test_lines_that_no_rule_knows_are_shown():
    adapter = cases.adapter("codex")
    data = cases.streams("codex")["events"] + b'{"type":"brand.new","x":1}\n'

    found = {one.check: one for one in conformance.check(adapter, {"events": data}, root=cases.ROOT)}

    assert found["every line is known"].warning and not found["every line is known"].ok
    assert "brand.new" in found["every line is known"].examples[0]


# --- the models that people write against, and the words that the recorder knows --------------------------------------
PAIRS = [
    (api.AdapterRules, rules.Adapter, {"redact_previews", "trial"}),
    (api.AdapterSource, rules.Source, set()),
    (api.AdapterRule, rules.Rule, set()),
    (api.AdapterCondition, rules.Condition, set()),
    (api.AdapterStatus, rules.Status, set()),
    (api.AdapterUsage, rules.Usage, set()),
    (api.AdapterTime, rules.Time, set()),
]


@pytest.mark.parametrize(("written", "read", "more"), PAIRS)
def test_models_and_rules_have_the_same_fields(written, read, more):
    names = {info.alias for info in written.model_fields.values()}

    assert names == {rules.documents.camel(f.name) for f in dataclasses.fields(read) if f.name not in more}


def test_models_and_rules_have_the_same_words():
    assert set(typing.get_args(api.Kind)) == set(model.RULE_KINDS)
    assert set(typing.get_args(api.Capability)) == set(model.CAPABILITIES)
    assert set(typing.get_args(api.Status)) == set(model.STATUSES)
    fields = {
        f.name for f in dataclasses.fields(measures.Interaction) if f.type is measures.Measure or f.type == "Measure"
    }
    assert fields == set(rules.METRIC_KINDS)


def test_a_plan_fits_and_loses_nothing():
    for name in api.BUILT_IN:
        plan = api.Adapter(name=name).to_plan(api.trial("ns/run", {"harness": name}, None))
        loaded = rules.load(json.loads(json.dumps(plan)))
        assert loaded.trial.candidate == {"harness": name} and loaded.sources == cases.adapter(name).sources
        assert len(json.dumps(plan)) < api.PLAN_MAX_BYTES / 4


def test_an_adapter_is_a_name_or_rules():
    own = {"name": "mine", "sources": [{"rules": [{"name": "a", "kind": "notice"}]}]}

    assert api.Adapter.model_validate({"rules": own, "capabilities": {"x": "web"}}).to_plan()["capabilities"] == {
        "x": "web"
    }
    for wrong in ({}, {"name": "nobody"}, {"name": "pi", "rules": own}):
        with pytest.raises(ValidationError):
            api.Adapter.model_validate(wrong)


def test_a_path_that_is_none_is_found_before_a_run_starts():
    own = {"name": "mine", "sources": [{"rules": [{"name": "a", "kind": "notice", "id": "a..b"}]}]}

    with pytest.raises(InvalidInput, match=r"mine.sources\[0\].rules\[a\].id"):
        api.Adapter.model_validate({"rules": own}).to_plan()


def test_an_adapter_that_is_too_large_for_a_plan_is_refused():
    many = [{"name": f"r{n}", "kind": "notice", "reason": "x" * 250, "output": "y" * 250} for n in range(64)]
    own = {"name": "mine", "sources": [{"rules": many}]}

    with pytest.raises(InvalidInput, match="32768 fit"):
        api.Adapter.model_validate({"rules": own}).to_plan()


def test_an_adapter_is_a_structural_schema_with_one_cheap_rule_inside():
    raw = api.Adapter.model_json_schema(by_alias=True)
    schema = json.dumps(_structural(raw, raw["$defs"]))

    assert schema.count("x-kubernetes-validations") == 2 and "$ref" not in schema and "anyOf" not in schema
