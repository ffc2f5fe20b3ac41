"""A record says what was observed, the same way every time, and never a number that was not measured."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial import documents
from fairtrial.api import BenchmarkRun, digest, parse
from fairtrial.documents import Artifact, Consumption, Diff, RunIdentity
from fairtrial.errors import InvalidInput
from fairtrial.evidence.record import assemble, load_record, record_schema
from fairtrial.evidence.value import INT64_MAX, Integer, Value, measured, missing, not_applicable, plain, void
from fairtrial.journal.summary import Leak
from fairtrial.secrets.stored import ArtifactScan, StoredLeak
from fairtrial.testing import agent_report, check_result, evaluation_report, make_finished_run, make_run, pod_facts
from fairtrial.usage.calls import FoundLeak, ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.course import TOO_FEW, Course, Pair
from fairtrial.usage.money import Cost

REPORTS = (Artifact("agent/report.json", 2000, "5" * 64), Artifact("evaluation/report.json", 900, "6" * 64))


def good() -> Any:
    return assemble(make_finished_run(), agent_report(), evaluation_report(), REPORTS)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def states(record: dict[str, Any], *path: str) -> dict[str, Any]:
    for key in path:
        record = record[key]
    return record


# --- the same facts, the same bytes -----------------------------------------------------------------------------------
def test_assembling_twice_gives_the_same_bytes():
    assert good().to_bytes() == good().to_bytes()


def test_the_order_in_which_artifacts_are_told_does_not_matter():
    agent = agent_report()
    shuffled = dataclasses.replace(agent, artifacts=list(reversed(agent.artifacts)))
    again = assemble(make_finished_run(), shuffled, evaluation_report(), tuple(reversed(REPORTS)))
    assert again.to_bytes() == good().to_bytes()


def test_what_a_later_look_at_the_object_shows_does_not_matter():
    """Labels, versions and what people ask for after the end differ; the facts do not."""
    later = make_finished_run(
        metadata={"resourceVersion": "9", "generation": 3, "deletionTimestamp": "2026-02-01T00:00:00Z"},
        status={"phase": "Recording", "message": "…", "timestamps": {"recorded": "2026-02-01T00:00:00Z"}},
        cancel={"reason": "too late"},
    )
    assert assemble(later, agent_report(), evaluation_report(), REPORTS).to_bytes() == good().to_bytes()


def test_a_run_read_back_from_the_api_server_gives_the_same_bytes():
    again = parse(BenchmarkRun, json.loads(json.dumps(make_finished_run().as_json())))
    assert assemble(again, agent_report(), evaluation_report(), REPORTS).to_bytes() == good().to_bytes()


def test_reports_read_back_give_the_same_bytes():
    agent = documents.load(documents.AgentReport, documents.dump(agent_report()))
    evaluation = documents.load(documents.EvaluationReport, documents.dump(evaluation_report()))
    assert assemble(make_finished_run(), agent, evaluation, REPORTS).to_bytes() == good().to_bytes()


def test_a_record_survives_being_written_and_read():
    data = good().to_bytes()
    assert load_record(data).to_bytes() == data


def test_a_record_fits_its_published_schema():
    schema = record_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    nothing = assemble(make_run(), None, None)
    for record in (good(), nothing):
        jsonschema.validate(json.loads(record.to_bytes()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(good().to_bytes()) | {"extra": 1}, schema)


# --- values -----------------------------------------------------------------------------------------------------------
def test_null_never_becomes_zero():
    record = json.loads(assemble(make_run(), None, None).to_bytes())
    numbers = [record["patch"][key] for key in ("filesAdded", "filesModified", "linesAdded", "linesDeleted")]
    usage = record["usage"]
    assert usage.pop("refusedCalls") == {}
    assert usage.pop("calls", None) is None
    assert usage.pop("conflicts") == []
    course = usage.pop("course")
    assert course.pop("faultsBy") == {}
    numbers += [*course.values(), *record["consumption"].values()]
    numbers += [*usage.values(), record["interaction"]["wallMs"], record["timings"]["queuedMs"]]
    assert all(value["state"] != "measured" and "value" not in value and value["reason"] for value in numbers)


def test_consumption_is_what_the_kernel_told_and_missing_where_it_did_not():
    told = dataclasses.replace(agent_report(), consumption=Consumption(cpu_us=41_000_999, throttled_us=0))
    record = json.loads(assemble(make_finished_run(), told, evaluation_report()).to_bytes())
    assert record["consumption"] == {
        "cpuMs": {"state": "measured", "value": 41_000},
        "cpuPeriods": {"state": "missing", "reason": "not_told_by_the_kernel"},
        "throttledPeriods": {"state": "missing", "reason": "not_told_by_the_kernel"},
        "throttledMs": {"state": "measured", "value": 0},
        "memoryPeakBytes": {"state": "missing", "reason": "not_told_by_the_kernel"},
    }


def test_launch_without_a_last_word_leaves_consumption_missing():
    silent = dataclasses.replace(agent_report(), consumption=None)
    record = json.loads(assemble(make_finished_run(), silent, evaluation_report()).to_bytes())
    assert record["consumption"]["cpuMs"] == {"state": "missing", "reason": "not_reached"}


def test_the_course_of_the_calls_is_measured_or_says_why_not():
    course = Course({"rate_limited": 2}, 1, 40, "", Pair(reason=TOO_FEW), None, "unknown_in_1_of_3_calls", Pair(5, 9))
    calls = dataclasses.replace(calls_with(output=1), unfinished=["a"], course=course)
    made = json.loads(assemble(with_a_provider(), agent_report(), evaluation_report(), (), calls).to_bytes())
    found = made["usage"]["course"]
    assert found.pop("faultsBy") == {"rate_limited": 2}
    assert {name: value.get("value", f"{value['state']}: {value.get('reason')}") for name, value in found.items()} == {
        "unfinishedCalls": 1,
        "faults": 2,
        "recoveredFaults": 1,
        "firstTokenMs": 40,
        "startFirstTokenMs": f"not_applicable: {TOO_FEW}",
        "tailFirstTokenMs": f"not_applicable: {TOO_FEW}",
        "largestInputTokens": "missing: unknown_in_1_of_3_calls",
        "startInputTokens": 5,
        "tailInputTokens": 9,
    }


def test_a_measured_zero_stays_a_zero():
    record = json.loads(good().to_bytes())
    assert record["patch"]["filesDeleted"] == {"state": "measured", "value": 0}
    assert record["timings"]["queuedMs"] == {"state": "measured", "value": 0}


def test_a_missing_diff_keeps_its_reason():
    agent = agent_report(diff=Diff("missing", reason="fixture_unreadable"))
    record = json.loads(assemble(make_finished_run(), agent, evaluation_report()).to_bytes())
    assert record["patch"]["linesAdded"] == {"state": "missing", "reason": "fixture_unreadable"}


def test_usage_is_missing_where_a_model_was_called_and_inapplicable_where_there_was_none():
    network = {"modelProviderRef": {"name": "provider"}}
    called = assemble(make_finished_run(network=network), agent_report(), evaluation_report())
    assert called.usage.output_tokens == missing("not_collected")
    assert good().usage.output_tokens == not_applicable("no_model_provider")


def test_an_evaluators_error_is_void_and_no_verdict():
    broken = evaluation_report(verdict="error", checks=[check_result("error")])
    record = assemble(make_finished_run(), agent_report(), broken)
    assert record.evaluation.verdict == void("evaluator_error")
    assert record.classification.outcome == "invalid"


def test_a_clock_that_went_backwards_gives_no_negative_time():
    status = {"timestamps": {"agentStarted": "2026-01-01T12:00:05Z", "agentFinished": "2026-01-01T12:00:00Z"}}
    record = assemble(make_finished_run(status=status), agent_report(), evaluation_report())
    assert record.timings.agent_pod_ms == void("clock_went_backwards")


@pytest.mark.parametrize(
    "raw",
    [
        {"state": "measured"},
        {"state": "measured", "value": None},
        {"state": "measured", "value": 1, "reason": "x"},
        {"state": "missing"},
        {"state": "missing", "reason": ""},
        {"state": "missing", "reason": "x", "value": 0},
        {"state": "measured", "value": True},
        {"state": "measured", "value": 1.0},
        {"state": "measured", "value": "1"},
        {"state": "measured", "value": INT64_MAX + 1},
        {"state": "other", "reason": "x"},
    ],
)
def test_a_value_without_its_one_meaning_is_refused(raw: dict[str, Any]):
    with pytest.raises(ValueError, match="Value"):
        Value[Integer].model_validate(raw)


def test_the_largest_integer_is_kept_as_it_is():
    assert json.loads(json.dumps(Value[Integer].model_validate(measured(INT64_MAX)).as_json()))["value"] == INT64_MAX


# --- nothing that JSON readers disagree about -------------------------------------------------------------------------
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_whatever_a_pod_says_of_its_environment_a_record_has_no_floating_point(environment: dict[str, Any]):
    record = assemble(make_finished_run(), agent_report(environment=environment), evaluation_report())
    data = record.to_bytes()
    assert not [leaf for leaf in leaves(json.loads(data)) if isinstance(leaf, float)]
    assert load_record(data).to_bytes() == data


def test_floating_point_is_kept_as_text():
    assert plain({"load": [0.1, float("nan")], "big": 2**64, "n": 1}) == {
        "load": ["0.1", "nan"],
        "big": str(2**64),
        "n": 1,
    }


def test_a_record_with_floating_point_is_refused():
    raw = json.loads(good().to_bytes())
    raw["environment"]["agent"]["load"] = 0.5
    with pytest.raises(InvalidInput, match=r"environment\.agent"):
        load_record(json.dumps(raw).encode())


def test_a_record_with_an_unknown_field_is_refused_by_its_path():
    raw = json.loads(good().to_bytes())
    raw["patch"]["extra"] = 1
    with pytest.raises(InvalidInput, match=r"patch\.extra"):
        load_record(json.dumps(raw).encode())


def test_a_record_with_a_damaged_document_is_refused():
    raw = json.loads(good().to_bytes())
    del raw["interaction"]["steps"][0]["argv"]
    with pytest.raises(InvalidInput, match="argv"):
        load_record(json.dumps(raw).encode())


def test_names_that_are_no_text_do_not_stop_a_record():
    agent = agent_report(diff=dataclasses.replace(agent_report().diff, paths=["bad\udcff", "nul\x00"]))
    data = assemble(make_finished_run(), agent, evaluation_report()).to_bytes()
    assert load_record(data).to_bytes() == data


# --- what it says -----------------------------------------------------------------------------------------------------
def test_every_instruction_is_hashed():
    run = make_finished_run(candidate={"files": {"AGENTS.md": "Be brief."}, "env": [{"name": "A", "value": "b"}]})
    configuration = assemble(run, agent_report(), evaluation_report()).configuration
    assert configuration.file_sha256 == {"AGENTS.md": digest("Be brief.")}
    assert configuration.prompt_sha256 == measured({"only": digest("Do it.")})
    assert configuration.argv_sha256 == digest(["/bin/agent", "{prompt}"])
    assert configuration.env_sha256 == digest([{"name": "A", "value": "b"}])


def test_any_change_of_the_candidate_changes_its_hash():
    first = good().configuration.configuration_sha256
    other = make_finished_run(candidate={"argv": ["/bin/agent", "--fast", "{prompt}"]})
    assert assemble(other, agent_report(), None).configuration.configuration_sha256 != first


def test_images_are_recorded_as_asked_for_and_as_resolved():
    environment = good().environment
    assert environment.candidate_image.endswith("d" * 64)
    assert set(environment.resolved_images) >= {"agent/agent", "agent/record", "evaluator/checks"}


def test_a_foreign_report_contributes_nothing_but_its_refusal():
    record = assemble(make_finished_run(), agent_report(pod_uid="another"), evaluation_report())
    assert record.classification.row == "agent_report_foreign"
    assert record.interaction.steps == ()
    assert [one.name for one in record.artifacts if one.name.startswith("agent/")] == []


def test_a_run_of_which_nothing_is_known_has_a_record_all_the_same():
    status = {"agentPod": {"facts": pod_facts(phase="Failed", reason="Evicted", containers={}).as_json()}}
    record = assemble(make_finished_run(status=status), None, None)
    assert record.classification.outcome == "invalid"
    assert record.classification.reason == "evicted"
    assert load_record(record.to_bytes()) == record


def test_the_words_of_an_evicted_pod_are_in_its_record():
    words = "The node was low on resource: memory."
    status = {"agentPod": {"facts": pod_facts(phase="Failed", reason="Evicted", message=words).as_json()}}
    raw = json.loads(assemble(make_finished_run(status=status), None, None).to_bytes())
    assert raw["pods"]["agent"]["facts"]["message"] == words


def test_a_replacement_names_what_it_replaces():
    run = make_finished_run(
        replaces={"name": "run-0", "uid": "u-0"},
        cohortRef={"name": "cohort-1", "preregistrationSha256": "f" * 64, "index": 7},
    )
    lineage = assemble(run, agent_report(), evaluation_report()).lineage
    assert lineage.replaces is not None
    assert (lineage.cohort, lineage.replaces.name, lineage.replaces.uid) == ("cohort-1", "run-0", "u-0")
    assert (lineage.preregistration_sha256, lineage.schedule_index) == ("f" * 64, 7)


def test_the_reason_of_a_cancellation_is_kept():
    run = make_finished_run(
        cancel={"reason": "wrong task"},
        status={"evaluatorPod": None, "timestamps": {"cancelled": "2026-01-01T12:05:00Z"}},
    )
    record = assemble(run, agent_report(ending="stopped_from_outside"), None)
    assert record.classification.outcome == "cancelled"
    assert record.lineage.cancel_reason == "wrong task"


# --- what the harness says of itself ----------------------------------------------------------------------------------
def calls_with(**counters: Any) -> ModelCalls:
    total = Total(1, Counters(**counters), {})
    return ModelCalls("p", "model-1", [], 1, 1, {}, [], total, Cost(reason="no_pricing_snapshot"), ["model-1"])


def with_a_provider() -> BenchmarkRun:
    provider = {
        "uid": "p-uid",
        "wire": "openaiChat",
        "model": {"id": "model-1"},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
    }
    return make_finished_run(network={"modelProviderRef": {"name": "p"}}, status={"provider": provider})


def told(**metrics: Any) -> documents.AgentReport:
    summary = {name: {"state": "measured", "value": value} for name, value in metrics.items()}
    return agent_report(interaction=documents.Interaction("measured", "pi", summary=summary))


def test_turns_and_tool_calls_come_from_the_adapter():
    agent = told(turns=4, toolCalls={"total": 7, "byTool": {"bash": 7}})
    record = assemble(make_finished_run(), agent, evaluation_report())
    assert (record.interaction.assistant_turns, record.interaction.tool_calls) == (measured(4), measured(7))
    assert record.interaction.metrics["toolCalls"]["value"]["byTool"] == {"bash": 7}


def test_without_an_adapter_there_is_a_reason():
    record = assemble(make_finished_run(), agent_report(), evaluation_report())
    assert record.interaction.tool_calls == not_applicable("no_adapter")


def test_counts_on_which_agent_and_gateway_disagree_are_reported_and_the_gateways_stand():
    calls = calls_with(all_input=100, uncached_input=60, output=10, reasoning=0, total=110)
    agent = told(agentUsage={"reported": {"scope": "total", "input": 60, "output": 9, "inputIncludesCached": "no"}})
    usage = assemble(with_a_provider(), agent, evaluation_report(), calls=calls).usage
    assert [(one.counter, one.counts) for one in usage.conflicts] == [("output", {"agent": 9, "gateway": 10})]
    assert usage.output_tokens == measured(10)


def test_a_provider_that_contradicts_itself_is_reported():
    calls = calls_with(all_input=100, output=10, total=120, reasoning=0)
    usage = assemble(with_a_provider(), agent_report(), evaluation_report(), calls=calls).usage
    assert [one.counter for one in usage.conflicts] == ["total"]


def test_counts_that_64_bits_do_not_hold_stop_no_record():
    summed = {"output": 2**64, "input": 7, "inputIncludesCached": "no"}
    huge = calls_with(all_input=2**63 - 1, uncached_input=8, output=2**63 - 1, reasoning=0, total=1)
    record = assemble(with_a_provider(), told(agentUsage={"summed": summed}), evaluation_report(), calls=huge)
    assert {one.counter: one.counts for one in record.usage.conflicts} == {
        "total": {"sum": 2**63 - 1, "total": 1},
        "uncached_input": {"agent": 7, "gateway": 8},
    }
    assert load_record(record.to_bytes()) == record


LEAK = StoredLeak("canary:canaries/one", "base64", "agent/streams/stdout", 42)
SCANNED = ArtifactScan(RunIdentity("trials", "run-1", "uid"), "done")


@pytest.mark.parametrize(
    ("with_model", "calls", "scans", "leaks"),
    [
        (False, None, (), not_applicable("no_model_provider")),
        (False, None, (SCANNED,), measured(0)),
        (False, None, (SCANNED, dataclasses.replace(SCANNED, leaks=[LEAK, LEAK])), measured(2)),
        (False, None, (dataclasses.replace(SCANNED, state="failed", leaks=[LEAK]),), missing("not_scanned")),
        (True, {"leaks": [FoundLeak("1", Leak("p", "plain", "request_body", 1))]}, (SCANNED,), measured(1)),
        (True, {}, (dataclasses.replace(SCANNED, leaks=[LEAK]),), measured(1)),
        (True, {"unscanned": 1}, (SCANNED,), missing("not_scanned")),
        (True, None, (SCANNED,), missing("not_collected")),
    ],
)
def test_secrets_are_counted_in_calls_and_artifacts_and_nothing_unsearched_is_a_zero(with_model, calls, scans, leaks):
    run = with_a_provider() if with_model else make_finished_run()
    listed = None if calls is None else dataclasses.replace(calls_with(output=1), **calls)

    record = assemble(run, agent_report(), evaluation_report(), (), listed, scans)

    assert record.usage.leaks == leaks
    found = any(scan.leaks for scan in scans) or bool(calls and calls.get("leaks"))
    assert ("credential_leaked" in record.classification.tags) == found
