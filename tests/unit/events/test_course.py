"""What an agent made of its failures, and how its calls went from the start of a run to its tail: rule by rule."""

import io
from typing import Any

import pytest

from fairtrial.events import Detail, Event, Normalizer, derive, load
from fairtrial.events.measures import Interaction, Measure
from fairtrial.events.model import detail_json
from fairtrial.events.normalize import Counts


def adapter(receipts: bool = False, **changes: Any) -> Any:
    fields = {"id": "id", "command": "cmd"} | ({"effectReceipt": "receipt"} if receipts else {})
    rules = [{"name": kind, "kind": kind, **fields} for kind in ("tool_call", "tool_result")]
    return load({"name": "mini", "sources": [{"rules": rules}]} | changes)


class Session:
    """Events as the normalizer would make them, one call after another."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def call(self, capability: str, target: str, status: str = "ok", *, code: int | None = None, **fields: Any) -> None:
        place = str(len(self.events))
        named = {"command": target} if capability.startswith("run") else {"paths": (target,) if target else ()}
        for kind, word in (("tool_call", "started"), ("tool_result", status)):
            detail = Detail(call_id=place, exit_code=code if kind == "tool_result" else None, output_bytes=5, **named)
            receipt = fields if kind == "tool_result" else {}
            self.events.append(
                Event(len(self.events), kind, capability, 0, word, raw_event_ref="out#0+1", detail=detail, **receipt)
            )

    def test(self, command: str, outcome: str) -> None:
        code = {"passed": 0, "failed": 1, "unknown": None}[outcome]
        self.call("run_tests", command, "error" if outcome == "failed" else "ok", code=code)

    def result(self, by: Any = None) -> Interaction:
        return derive(self.events, by or adapter(), Counts(sources=["events"], records=9))


# --- tools that failed ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("calls", "failed", "recovered"),
    [
        ([("edit_file", "a", "error"), ("edit_file", "a", "ok")], 1, 1),
        ([("edit_file", "a", "error"), ("edit_file", "a", "timeout"), ("edit_file", "a", "ok")], 2, 2),
        ([("edit_file", "a", "ok"), ("edit_file", "a", "error")], 1, 0),
        ([("edit_file", "a", "error"), ("edit_file", "b", "ok"), ("read_file", "a", "ok")], 1, 0),  # other aims
        ([("edit_file", "a", "error"), ("edit_file", "a", "ok"), ("edit_file", "a", "ok")], 1, 1),
        ([], 0, 0),
    ],
)
def test_a_tools_failure_is_recovered_from_by_a_result_with_the_same_aim(
    calls: list[tuple[str, str, str]], failed: int, recovered: int
) -> None:
    session = Session()
    for one in calls:
        session.call(*one)

    result = session.result()

    assert (result.failed_tool_calls.value["total"], result.recovered_tool_failures.value) == (failed, recovered)


# --- tests that failed ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("commands", "failed", "recovered"),
    [
        ([("pytest a.py", "failed"), ("pytest a.py", "passed")], 1, 1),
        ([("pytest -x a.py", "failed"), ("pytest -v a.py", "passed")], 1, 1),  # options are no scope
        ([("pytest a.py", "failed"), ("pytest -q", "passed")], 1, 1),  # everything passed
        ([("pytest", "failed"), ("pytest a.py", "passed")], 1, 0),  # a part says nothing about the whole
        ([("pytest a.py", "failed"), ("pytest b.py", "passed")], 1, 0),
        ([("pytest", "failed"), ("npm test", "passed")], 1, 0),  # another runner
        ([("pytest", "passed"), ("pytest", "failed")], 1, 0),
        ([("pytest", "failed"), ("pytest", "failed"), ("pytest", "passed")], 2, 2),
        ([("pytest a.py", "failed"), ("pytest b.py", "failed"), ("pytest", "passed")], 2, 2),
    ],
)
def test_a_failed_test_is_recovered_from_by_one_that_passes_over_no_less(
    commands: list[tuple[str, str]], failed: int, recovered: int
) -> None:
    session = Session()
    for one in commands:
        session.test(*one)

    found = session.result().test_failures.value

    assert (found["failed"], found["recovered"]) == (failed, recovered)


def test_a_failed_attempt_is_a_change_that_its_own_test_refused() -> None:
    session = Session()
    session.test("pytest", "failed")  # the fixture's own failure: nothing was tried yet
    session.call("edit_file", "a")
    session.call("edit_file", "b")
    session.test("pytest", "failed")
    session.test("pytest", "failed")  # again, without a change
    session.call("edit_file", "a", "error")  # changed nothing
    session.test("pytest", "failed")
    session.call("write_file", "a")
    session.test("pytest", "passed")

    assert session.result().test_failures.value == {"failed": 4, "recovered": 4, "attempts": 1}


def test_tests_whose_end_is_not_told_make_failures_missing_and_no_zero() -> None:
    session = Session()
    session.test("pytest", "passed")
    session.test("pytest", "unknown")

    found = session.result().test_failures

    assert found.state == "missing"
    assert found.reason == "How 1 of 2 test commands ended is not known."


# --- start and tail ---------------------------------------------------------------------------------------------------
def test_failures_at_the_start_and_in_the_tail_are_those_of_the_first_and_the_last_third() -> None:
    session = Session()
    for number in range(11):  # thirds of three
        session.call("read_file", f"f{number}", "error" if number in (1, 5, 8, 9) else "ok")

    assert session.result().failure_course.value == {"calls": 11, "part": 3, "start": 1, "tail": 2}


def test_a_call_repeats_one_of_the_ten_before_it_if_nothing_has_changed() -> None:
    session = Session()
    session.call("read_file", "a")
    session.call("read_file", "a")  # repeats
    session.call("edit_file", "a")
    session.call("read_file", "a")  # there was a change
    for number in range(10):
        session.call("read_file", f"f{number}")
    session.call("read_file", "a")  # the eleventh after it
    session.call("read_file", "f3")  # repeats
    session.call("search", "")  # has no target
    session.call("search", "")

    assert session.result().repetition_course.value == {"calls": 18, "part": 6, "start": 1, "tail": 1}


def test_eight_calls_have_no_start_and_no_tail() -> None:
    session = Session()
    for number in range(8):
        session.call("read_file", f"f{number}")

    result = session.result()

    why = "Fewer than 9 tool calls have no start and no tail."
    assert result.failure_course == result.repetition_course == Measure("not_applicable", reason=why)


# --- effect receipts --------------------------------------------------------------------------------------------------
def test_receipts_are_counted_and_one_that_comes_again_is_a_duplicate() -> None:
    session = Session()
    for receipt in ("r1", "r2", None, "r1", "r1"):
        session.call("run_command", "deploy", effect_receipt=receipt)

    found = session.result(adapter(receipts=True)).effect_receipts

    assert found.value == {"given": 4, "absent": 1, "unique": 2, "duplicates": 2}


def test_a_harness_without_receipts_has_none_and_no_zero() -> None:
    session = Session()
    session.call("run_command", "deploy")

    assert session.result().effect_receipts.state == "not_applicable"


def test_more_receipts_than_are_kept_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairtrial.events.course._RECEIPTS_MOST", 2)
    session = Session()
    for receipt in ("r1", "r2", "r3"):
        session.call("run_command", "deploy", effect_receipt=receipt)

    found = session.result(adapter(receipts=True)).effect_receipts

    assert (found.state, found.reason) == ("missing", "There are more receipts than are kept.")


# --- outputs that were cut --------------------------------------------------------------------------------------------
def test_outputs_that_the_harness_cut_are_counted_where_it_says_so() -> None:
    rules = [{"name": "r", "kind": "tool_result", "id": "id", "truncated": "cut"}]
    reader = Normalizer(load({"name": "mini", "sources": [{"rules": rules}]}))
    lines = b'{"id": 1, "cut": true}\n{"id": 2, "cut": false}\n{"id": 3}\n{"id": 4, "cut": "true"}\n'

    events = list(reader.events(reader.adapter.sources[0], "out", io.BytesIO(lines)))

    assert [event.detail.truncated for event in events] == [True, False, False, True]
    assert "truncated" not in detail_json(events[1].detail)
    assert derive(events, reader.adapter, reader.counts).truncated_outputs.value == 2
    assert Session().result().truncated_outputs.state == "not_applicable"


# --- what a harness does not tell -------------------------------------------------------------------------------------
def test_what_is_made_from_a_metric_that_the_harness_lacks_is_lacking_for_the_same_reason() -> None:
    session = Session()
    for number in range(9):
        session.call("read_file", f"f{number}", "not_applicable")

    result = session.result(adapter(lacks={"failed_tool_calls": "No field for it.", "test_commands": "No shell."}))

    assert result.recovered_tool_failures == Measure("not_applicable", reason="No field for it.")
    assert result.failure_course == Measure("not_applicable", reason="No field for it.")
    assert result.test_failures == Measure("not_applicable", reason="No shell.")
    assert result.repetition_course.state == "measured"
