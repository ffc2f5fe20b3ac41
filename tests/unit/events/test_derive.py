"""Counts from events: every rule that docs and docstrings state."""

from dataclasses import replace

import pytest

from fairtrial import documents
from fairtrial.events import Detail, Event, derive, load
from fairtrial.events.measures import Interaction
from fairtrial.events.normalize import Counts

KINDS = ["tool_call", "tool_result", "turn_start", "approval_request", "approval_decision", "compaction", "session_end"]
ADAPTER = load(
    {
        "name": "mini",
        "sources": [
            {
                "rules": [
                    {"name": kind, "kind": kind, "id": "id", "command": "cmd", "contextSize": "size"} for kind in KINDS
                ]
                + [{"name": "usage", "kind": "usage", "usage": {"scope": "increment", "input": "in"}}]
            }
        ],
    }
)


class Session:
    """Builds events as the normalizer would."""

    def __init__(self):
        self.events = []

    def add(self, kind, *, ms=None, status="not_applicable", capability="not_applicable", input_hash="h", **detail):
        number = len(self.events)
        at = number * 10 if ms is None else ms
        event = Event(
            number, kind, capability, at, status, input_hash, raw_event_ref=f"out#{number}+1", detail=Detail(**detail)
        )
        self.events.append(event)

    def call(self, capability, status, *, input_hash="h", code=None, shown=5, cited=(), **detail):
        name = str(len(self.events))
        self.add("tool_call", status="started", capability=capability, input_hash=input_hash, call_id=name, **detail)
        detail |= {"call_id": name, "exit_code": code, "output_bytes": shown, "cited": cited, "paired": True}
        self.add("tool_result", status=status, capability=capability, input_hash=input_hash, **detail)

    def read(self, path, status="ok"):
        self.call("read_file", status, paths=(path,))

    def edit(self, path, status="ok"):
        self.call("edit_file", status, paths=(path,))

    def run(self, command, status="ok", code=0, **more):
        test = "pytest" in command
        self.call("run_tests" if test else "run_command", status, command=command, code=code, **more)

    def result(self, adapter=ADAPTER, **counts):
        return derive(self.events, adapter, Counts(sources=["events"], records=9, **counts))


@pytest.fixture
def session():
    return Session()


def test_calls_are_counted_by_what_they_are_for(session):
    session.read("a")
    session.run("ls", "error", code=2)
    session.add("tool_call", status="started", capability="web", tool="fetch")

    result = session.result()

    assert result.tool_calls.value["total"] == 3
    assert result.tool_calls.value["byCapability"] == {"read_file": 1, "run_command": 1, "web": 1}
    assert result.failed_tool_calls.value == {"total": 1, "byStatus": {"error": 1}}
    assert result.unfinished_tool_calls.value == 1


@pytest.mark.parametrize("status", ["error", "retryable_error", "denied", "cancelled", "timeout", "invalid"])
def test_a_call_with_the_same_aim_after_a_failure_is_a_retry(session, status):
    session.edit("a", status)
    session.edit("b")
    session.edit("a", status)
    session.edit("a")
    session.edit("a")

    result = session.result()

    assert result.retries.value == 2
    assert [(one.sequence, one.after, one.target) for one in result.repetitions] == [(4, 1, "a"), (6, 5, "a")]


def test_another_target_capability_or_input_is_no_retry(session):
    session.edit("a", "error")
    session.read("a")
    session.call("web", "error", input_hash="x")
    session.call("web", "ok", input_hash="y")

    assert session.result().retries.value == 0


def test_a_call_made_before_the_failure_was_seen_is_no_retry(session):
    for name in ("1", "2"):
        session.add("tool_call", capability="read_file", status="started", call_id=name, paths=("a",))
    for name in ("1", "2"):
        session.add("tool_result", capability="read_file", status="error", call_id=name, paths=("a",))

    assert session.result().retries.value == 0


def test_a_command_run_again_after_a_change_is_no_retry(session):
    session.run("pytest  -q", "error", code=1)
    session.edit("a")
    session.run("pytest -q", "error", code=1)
    session.run("pytest -q", "ok")

    result = session.result()

    assert (result.retries.value, result.repeats_after_change.value) == (1, 1)


def test_tests_have_their_exit_code_only_if_it_is_theirs(session):
    session.run("pytest -q a", "error", code=1)
    session.run("pytest | tail -1", "ok", code=0)
    session.run("pytest && echo done", "ok", code=0)
    session.run("pytest", "error", code=None)
    session.run("pytest", "timeout", code=None)
    session.run("pytest && echo done", "error", code=1)
    session.run("ls", "ok")

    result = session.result()

    assert result.test_commands.value == {"total": 6, "passed": 1, "failed": 2, "unknown": 3}
    assert [one.exit_code for one in result.tests] == [1, None, 0, None, None, None]
    assert [bool(one.exit_reason) for one in result.tests] == [False, True, False, True, True, True]
    assert (result.tests[0].scope, result.tests[0].duration_ms, result.tests[0].sequence) == ("-q a", 10, 0)
    assert result.time_to_first_verifiable_outcome_ms.value == 10


def test_files_are_inspected_when_their_content_was_shown(session):
    session.read("a")
    session.read("a")
    session.read("gone", "error")
    session.run("cat a b")
    session.run("cat empty", shown=0)
    session.run("cat $f")
    session.run("ls src")
    session.call("search", "ok", cited=("c",))
    session.call("search", "ok", shown=9)
    session.call("search", "ok", shown=0)
    session.run("grep -rn x .", cited=("d", "a"))
    session.run("python3 run.py", "ok", cited=("e",))
    session.run("python3 run.py", "error", code=1, cited=("f",))

    result = session.result()

    assert {one.path: (one.times, one.by) for one in result.inspected} == {
        "a": (4, ["direct_read", "search_result"]),
        "b": (1, ["direct_read"]),
        "c": (1, ["search_result"]),
        "d": (1, ["search_result"]),
        "e": (1, ["diagnostic"]),
        "f": (1, ["diagnostic"]),
    }
    found = result.files_inspected.value
    assert (found["unique"], found["repeats"], found["unattributed"]) == (6, 3, 2)


def test_source_files_are_counted_apart_each_once(session):
    for path in ("src/a.ts", "src/a.ts", "B.PY", "README.md", "tsconfig.json", "ts", "data.mts.bak"):
        session.read(path)

    found = session.result().files_inspected.value

    assert (found["unique"], found["source"]) == (6, 2)


def test_files_are_modified_by_edits_and_by_commands(session):
    session.edit("a")
    session.edit("a")
    session.edit("b", "error")
    session.call("write_file", "ok", paths=("c",))
    session.run("sed -i s/x/y/ d && echo z > a")
    session.run("git stash")

    result = session.result()

    assert {one.path: (one.times, one.by) for one in result.modified} == {
        "a": (3, ["edit_file", "run_command"]),
        "c": (1, ["write_file"]),
        "d": (1, ["run_command"]),
    }
    assert result.files_modified.value["unattributed"] == 1


def test_the_first_useful_action_is_the_first_that_came_back_well(session):
    session.add("tool_result", capability="plan", status="ok", ms=1)
    session.add("tool_result", capability="read_file", status="error", ms=2)
    session.add("tool_result", capability="read_file", status="ok", ms=7)

    result = session.result()

    assert result.time_to_first_useful_action_ms.value == 7
    assert result.time_to_first_verifiable_outcome_ms.state == "not_applicable"


def test_nothing_that_is_not_known_becomes_zero(session):
    session.add("approval_request")
    silent = load({"name": "silent", "sources": [{"rules": [{"name": "n", "kind": "notice"}]}]})

    result = session.result()
    nothing = session.result(silent)

    assert result.model_retries.state == "not_applicable"
    assert result.approvals.value == {"requested": 1, "granted": 0, "denied": 0, "unknown": 0}
    assert result.session_end.state == "missing" and result.agent_usage.state == "missing"
    for name, value in documents.to_json(nothing).items():
        if isinstance(value, dict):
            assert value["state"] == "not_applicable" and value["value"] is None and value["reason"], name


def test_a_stream_without_a_readable_line_measures_nothing():
    result = derive([], ADAPTER, Counts())

    assert result.tool_calls.state == "missing" and result.turns.state == "missing"


def test_decisions_that_were_not_read_are_not_denied(session):
    two = load(
        {
            "name": "two",
            "sources": [
                {"name": "agent", "rules": [{"name": "ask", "kind": "approval_request"}]},
                {"name": "client", "read": "file", "file": "x", "rules": [{"name": "d", "kind": "approval_decision"}]},
            ],
        }
    )
    session.add("approval_request")

    result = derive(session.events, two, Counts(sources=["agent"], records=1))

    assert result.approvals.value == {"requested": 1, "granted": None, "denied": None, "unknown": None}


def test_an_adapter_says_itself_what_it_lacks(session):
    adapter = replace(ADAPTER, lacks={"retries": "It never says."})

    assert session.result(adapter).retries.reason == "It never says."


def test_usage_is_summed_or_taken_as_it_is_told(session):
    session.add("usage", usage={"scope": "increment", "input": 5, "cached_input": 1, "input_includes_cached": "no"})
    session.add("usage", usage={"scope": "increment", "input": 7, "input_includes_cached": "no"})
    session.add("usage", usage={"scope": "total", "input": 20, "input_includes_cached": "no"})
    session.add("context", context_size=9)
    session.add("context", context_size=4)

    result = session.result()

    assert result.agent_usage.value["summed"] == {"cachedInput": 1, "input": 12}
    assert result.agent_usage.value["reported"] == {"input": 20, "inputIncludesCached": "no", "scope": "total"}
    assert result.context_size.value == {"last": 4, "largest": 9}


def test_the_result_is_a_document_that_is_read_back(session):
    session.read("a")
    session.run("pytest", "error", code=1)
    result = session.result()

    assert documents.load(Interaction, documents.dump(result)) == result
