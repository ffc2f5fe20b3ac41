"""The recorder has the agent's output read by the candidate's adapter; whatever that comes to, the run is recorded."""

import json
import shlex
from dataclasses import replace

import pytest

from fairtrial import documents
from fairtrial.api.adapter import Adapter, trial
from fairtrial.documents import Step
from fairtrial.events.measures import Interaction

ADAPTER = {
    "rules": {
        "name": "tiny",
        "capabilities": {"sh": "run_command"},
        "sources": [
            {
                "rules": [
                    {"name": "call", "kind": "tool_call", "when": [{"path": "ev", "equals": "call"}], "id": "id",
                     "tool": "tool", "command": "cmd"},
                    {"name": "result", "kind": "tool_result", "when": [{"path": "ev", "equals": "result"}], "id": "id",
                     "exitCode": "code"},
                    {"name": "turn", "kind": "turn_start", "when": [{"path": "ev", "equals": "turn"}]},
                ]
            },
            {
                "name": "log",
                "read": "file",
                "file": "*log.json",
                "format": "jsonDocument",
                "records": ["items[]"],
                "rules": [{"name": "note", "kind": "notice", "output": "text"}],
            },
        ],
    }
}  # fmt: skip


def adapter(**changes):
    plan = Adapter.model_validate(ADAPTER).to_plan(trial("ns/run/uid", {"harness": "tiny"}, None))
    return plan | changes


def says(*records):
    return "; ".join(
        record if isinstance(record, str) else f"printf '%s\\n' {shlex.quote(json.dumps(record))}" for record in records
    )


def run(pod, script, **facts):
    pod.plan = replace(pod.plan, steps=[Step("main", ["/bin/sh", "-c", script], 20)], **facts)
    return pod.run()


def events(pod):
    return [json.loads(line) for line in pod.gateway.artifacts["agent/events.jsonl"].splitlines()]


def resolved(pod, event):
    artifact, _, place = event["event"]["raw_event_ref"].partition("#")
    start, length = (int(number) for number in place.split("+"))
    whole = pod.gateway.artifacts.get(artifact) or pod.stream(artifact.rpartition("/")[2])
    return whole[start : start + length]


def test_events_and_counts_are_stored_with_the_recorders_times_and_true_references(pod):
    call = {"ev": "call", "id": 1, "tool": "sh", "cmd": "pytest -q"}
    script = says(
        {"ev": "turn"}, "sleep 0.3", call, "sleep 0.4", {"ev": "result", "id": 1, "code": 1}, "echo not json",
        "mkdir -p $HOME/.tiny", """printf '{"items": [{"text": "kept"}, {"text": "too"}]}' > $HOME/.tiny/log.json""",
    )  # fmt: skip

    report = run(pod, script, adapter=adapter(), collect=[".tiny/**"])

    assert (report.ending, report.complete) == ("finished", True)
    assert (report.interaction.state, report.interaction.adapter) == ("measured", "tiny")
    found = events(pod)
    kinds = [(one["event"]["kind"], one["event"]["status"]) for one in found]
    assert kinds == [
        ("turn_start", "not_applicable"), ("tool_call", "started"), ("tool_result", "error"),
        ("unreadable", "not_applicable"), ("notice", "not_applicable"), ("notice", "not_applicable"),
    ]  # fmt: skip
    assert {one["trial_id"] for one in found} == {"ns/run/uid"}
    assert json.loads(resolved(pod, found[1])) == call
    assert [resolved(pod, one) for one in found[4:]] == [b'{"text": "kept"}', b'{"text": "too"}']
    times = [one["event"]["monotonic_ms"] for one in found[:3]]
    assert 250 <= times[1] - times[0] < 2000 and 350 <= times[2] - times[1] < 2000
    counts = documents.load(Interaction, pod.gateway.artifacts["agent/interaction.json"])
    assert counts.time_source == "arrival" and counts.tests[0].exit_code == 1
    assert report.interaction.summary["testCommands"]["value"]["failed"] == 1
    assert "tests" not in report.interaction.summary
    assert report.interaction.events.name == "agent/events.jsonl"


def test_a_stream_of_which_the_middle_was_not_kept_is_read_on_both_sides(pod):
    line = {"ev": "turn", "x": "y" * 200}
    script = says({"ev": "call", "id": 1, "tool": "sh", "cmd": "ls"}) + "; i=0; while [ $i -lt 400 ]; do "
    script += says(line) + "; i=$((i+1)); done; " + says({"ev": "result", "id": 1, "code": 0})

    report = run(pod, script, adapter=adapter(), stream_keep_bytes=20_000)

    found = events(pod)
    assert next(one for one in report.streams if one.name == "stdout").truncated
    assert found[0]["event"]["kind"] == "tool_call" and found[-1]["event"]["kind"] == "tool_result"
    assert found[-1]["detail"]["paired"] and json.loads(resolved(pod, found[-1]))["ev"] == "result"
    (torn,) = [one for one in found if one["event"]["kind"] == "unreadable"]
    assert torn["detail"]["reason"] == "part_was_not_kept"
    times = [one["event"]["monotonic_ms"] for one in found]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("change", "why"), [({"sources": [{"rules": []}]}, "rules"), ({"sources": "what"}, "sources"), ({"new": 1}, "new")]
)
def test_an_adapter_that_is_none_costs_the_events_and_not_the_run(pod, change, why):
    report = run(pod, "echo hello", adapter=adapter(**change))

    assert (report.ending, report.complete) == ("finished", True)
    assert report.interaction.state == "missing" and why in report.interaction.reason
    assert pod.stream("stdout") == b"hello\n" and "agent/events.jsonl" not in pod.gateway.artifacts


def test_hostile_output_is_read_within_the_recorders_memory(pod):
    deep = "head -c 3000000 /dev/zero | tr '\\0' '['; echo"
    wide = "yes '[],' | head -c 3900000 | tr '\\n' ' '; echo"
    (pod.root / "bin/tr").symlink_to("busybox")

    report = run(pod, f"printf '['; {wide}; {deep}; {says({'ev': 'turn'})}", adapter=adapter())

    assert report.complete and report.interaction.state == "measured"
    assert [one["event"]["kind"] for one in events(pod)] == ["unreadable", "unreadable", "turn_start"]


def test_without_an_adapter_nothing_is_read(pod):
    report = run(pod, says({"ev": "turn"}))

    assert (report.interaction.state, report.interaction.reason) == ("not_applicable", "no_adapter")
    assert "events" not in report.timings_ms
