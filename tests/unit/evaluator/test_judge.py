"""Judgements from raw results: what is passed, what is the submission's failure, what is the evaluator's error."""

import dataclasses
from typing import Any

import pytest
from fairtrial_evaluator import judge
from fairtrial_evaluator.judge import Judgement
from fairtrial_evaluator.plan import Planned, Planner
from fairtrial_evaluator.protocol import Outcome, RawResult
from fairtrial_evaluator.sentinel import Sentinel
from fairtrial_evaluator.session import conclude, control_state

from fairtrial.documents import CheckResult
from fairtrial.task.packed import Check, Evaluation, LauncherProbe, Overlay, Pattern, Target

TESTS = Check(
    name="behaviour",
    kind="junit",
    category="acceptance_failure",
    argv=["{launcher}", "{sentinel}", "{results}"],
    sentinel="pytest",
    expect_tests=["t::a"],
)
PLANNER = Planner(Evaluation(["tool"], [TESTS]), ["/bin/tool", "-x"], "token")
PLANNED = PLANNER.single(TESTS, "submission")


def ended(exit_code: int | None = 0, *, results: bytes | None = None, **facts: Any) -> Outcome:
    state = "unused" if results is None else "read"
    raw = RawResult("label", ["tool"], "exited", exit_code=exit_code, results=state)  # type: ignore[arg-type]
    return Outcome(dataclasses.replace(raw, **facts), results=results or b"")


def report(states: dict[str, str], sentinel: Sentinel | None, *, green: bool = False) -> bytes:
    lines = [case(f"t::{name}", state) for name, state in states.items()]
    if sentinel:
        lines += [case(f"s::{name}", "passed" if green else "failed") for name in sorted(sentinel.must_fail)]
        lines += [case(f"s::{name}", "passed") for name in sorted(sentinel.must_pass)]
    return f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>".encode()


def case(identity: str, state: str) -> str:
    owner, name = identity.split("::")
    inside = {"passed": "", "failed": "<failure/>", "skipped": "<skipped/>"}[state]
    return f'<testcase classname="{owner}" name="{name}">{inside}</testcase>'


def judged(states: dict[str, str], exit_code: int = 1, *, green: bool = False) -> Judgement:
    data = report(states, PLANNED.sentinel, green=green)
    return judge.judge_tests(TESTS, PLANNED, ended(exit_code, results=data))


def test_expected_tests_with_intact_sentinels_pass() -> None:
    assert judged({"a": "passed", "other": "failed"}).state == "passed"


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (judged({"a": "failed"}), "tests_failed"),
        (judged({"a": "skipped"}), "tests_failed"),
        (judged({"b": "passed"}), "tests_missing"),
        (judged({"a": "passed"}, green=True), "forged_results: a test that must fail did not"),
        (judged({"a": "passed"}, exit_code=0), "forged_results: tests failed, as they must, but exit code 0"),
        (
            judge.judge_tests(TESTS, PLANNED, ended(1, results=report({"a": "passed"}, None))),
            "forged_results: the sentinel tests are not in the report",
        ),
        (judge.judge_tests(TESTS, PLANNED, ended(None, timed_out=True)), "timed_out"),
    ],
)
def test_what_fails_tests(judgement: Judgement, reason: str) -> None:
    assert (judgement.state, judgement.reason) == ("failed", reason)


def test_an_expected_test_that_is_reported_twice_is_a_forgery() -> None:
    data = report({"a": "passed"}, PLANNED.sentinel).replace(
        b"<testsuite>", b"<testsuite>" + case("t::a", "passed").encode()
    )

    assert judge.judge_tests(TESTS, PLANNED, ended(1, results=data)).reason.startswith("forged_results")


@pytest.mark.parametrize("state", ["missing", "not_a_file", "too_big"])
def test_results_that_are_not_there_are_broken_until_the_fixture_has_been_looked_at(state: str) -> None:
    broken = Outcome(dataclasses.replace(ended(0).raw, results=state))  # type: ignore[arg-type]

    assert judge.judge_tests(TESTS, PLANNED, broken).state == "broken"
    assert not judge.is_healthy("junit", broken)


def test_without_a_sentinel_the_exit_code_must_agree() -> None:
    check = dataclasses.replace(TESTS, sentinel="none")
    planned = Planned(PLANNED.invocation)
    data = report({"a": "passed"}, None)

    assert judge.judge_tests(check, planned, ended(0, results=data)).state == "passed"
    assert judge.judge_tests(check, planned, ended(1, results=data)).reason.startswith("forged_results")


def test_a_tool_that_does_not_start_is_an_error_not_a_failure() -> None:
    outcome = ended(None, end="not_started", error="no such file")

    assert judge.judge_tests(TESTS, PLANNED, outcome).state == "error"
    assert judge.judge_command(TESTS, PLANNED, outcome).state == "error"


def test_commands_are_judged_by_exit_code_and_by_the_nonce() -> None:
    check = Check("c", "command", "type_error", argv=["{launcher}", "{results}"])
    planned = PLANNER.single(check, "submission")

    assert planned.invocation.argv == ["/bin/tool", "-x", "{results}"]
    assert judge.judge_command(check, planned, ended(0, results=planned.nonce.encode() + b"\n")).state == "passed"
    assert judge.judge_command(check, planned, ended(0, results=b"")).reason.startswith("no_proof")
    assert judge.judge_command(check, planned, ended(1)).reason == "exit_code: exit code 1"
    assert judge.judge_command(check, planned, ended(None, end="signaled", signal=9)).reason == "exit_code: signal 9"


def test_the_probe_needs_exit_code_and_pattern() -> None:
    probe = LauncherProbe(["tool", "--version"], "^2\\.")

    assert judge.judge_probe(probe, dataclasses.replace(ended(0), stdout=b"2.1")) == ""
    assert "does not match" in judge.judge_probe(probe, dataclasses.replace(ended(0), stdout=b"1.9"))
    assert "exit code 3" in judge.judge_probe(probe, ended(3))


MUTANTS = Check(
    name="m",
    kind="mutants",
    category="incomplete_implementation",
    argv=["{launcher}", "{tests}", "{results}"],
    tests=["tests/*"],
    target=Target("sign", "src/sign.py"),
    mutants=[Overlay("negative", "n"), Overlay("zero", "z"), Overlay("positive", "p")],
    equivalents=[Overlay("same", "e")],
)


def mutants(reference: str, same: str, *wrong: str) -> Judgement:
    planned = PLANNER.mutant_runs(MUTANTS, "submission", ["tests/t.py"])
    states = [reference, same, *wrong]
    outcomes = [ended(0 if s == "passed" else 1, results=report({"a": s}, None)) for s in states]
    return judge.judge_mutants(MUTANTS, list(zip(planned, outcomes, strict=True)))


def test_submitted_tests_must_reject_every_mutant_and_no_correct_code() -> None:
    assert mutants("passed", "passed", "failed", "failed", "failed").state == "passed"
    survived = mutants("passed", "passed", "failed", "passed", "failed")
    assert (survived.reason, survived.tests_failed) == ("mutants_not_rejected", ["zero"])
    assert mutants("failed", "passed", "failed", "failed", "failed").reason == "tests_fail_on_correct_code: reference"
    assert (
        mutants("passed", "failed", "failed", "failed", "failed").reason
        == "tests_fail_on_correct_code: equivalent-same"
    )
    assert mutants("skipped", "passed", "failed", "failed", "failed").reason == "no_submitted_tests: reference"


def test_each_test_file_is_also_run_alone() -> None:
    labels = [p.invocation.label for p in PLANNER.mutant_runs(MUTANTS, "submission", ["tests/a.py", "tests/b.py"])]

    assert labels[:3] == ["submission-reference", "submission-alone-0", "submission-alone-1"]
    assert len(labels) == 7


def test_submitted_tests_must_name_their_target() -> None:
    assert judge.judge_association(MUTANTS, {"tests/a.py": b"assert sign(1)"}).state == "passed"
    assert judge.judge_association(MUTANTS, {"tests/a.py": b"design, signal"}).tests_failed == ["tests/a.py"]
    assert judge.judge_association(MUTANTS, {}).reason == "no_submitted_tests"


COMPILE = Check(
    name="c",
    kind="mustNotCompile",
    category="acceptance_failure",
    argv=["{launcher}"],
    control=Overlay("new", "new"),
    sources=[Overlay("old", "old")],
    diagnostic="call-arg",
)


def compiled(control: Outcome, source: Outcome) -> Judgement:
    runs = PLANNER.compile_runs(COMPILE, "submission")
    return judge.judge_compile(COMPILE, list(zip(runs, [control, source], strict=True)))


def test_old_calls_must_be_refused_for_the_right_reason_while_new_ones_compile() -> None:
    refused = dataclasses.replace(ended(1), stdout=b"error: missing [call-arg]")

    assert compiled(ended(0), refused).state == "passed"
    assert compiled(ended(0), ended(0)).reason == "accepted_what_must_be_refused"
    assert compiled(ended(0), ended(1)).reason == "refused_for_another_reason: source-old"
    assert compiled(ended(1), refused).reason.startswith("control_refused")
    assert compiled(ended(0), ended(2)).state == "error"
    assert compiled(ended(None, end="signaled", signal=11), refused).state == "error"


def test_unchanged_also_sees_what_was_restored() -> None:
    assert judge.judge_unchanged({"a": "1"}, {"a": "1"}, []).state == "passed"
    assert judge.judge_unchanged({"a": "2", "b": "1"}, {"a": "1"}, ["c"]).tests_failed == ["a", "b", "c"]


def test_absent_finds_files_and_patterns() -> None:
    patterns = [Pattern("src/**", r"^def old\b")]

    assert judge.judge_absent(patterns, [], [{"src/a.py": b"def older(): ..."}]).state == "passed"
    assert judge.judge_absent(patterns, [], [{"src/a.py": b"x\ndef old(): ..."}]).tests_failed == ["src/a.py"]
    assert judge.judge_absent([], ["src/old.py"], []).tests_failed == ["src/old.py"]


def result(state: str) -> CheckResult:
    return CheckResult("c", "command", state, "type_error", "why")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("states", "control", "verdict"),
    [
        (["passed"], "not_applicable", "passed"),
        (["passed", "passed"], "passed", "passed"),
        (["passed", "failed"], "passed", "failed"),
        (["failed", "error"], "passed", "error"),
        (["passed"], "failed", "error"),
        (["failed"], "failed", "error"),
        ([], "not_applicable", "error"),
    ],
)
def test_verdicts_never_take_the_unknown_for_good(states: list[str], control: Any, verdict: str) -> None:
    assert conclude([result(state) for state in states], control)[0] == verdict


def test_a_negative_control_must_fail_and_not_merely_break() -> None:
    assert control_state([]) == "not_applicable"
    assert control_state([Judgement("failed")]) == "passed"
    assert control_state([Judgement("failed"), Judgement("passed")]) == "failed"
    assert control_state([Judgement("error")]) == "failed"
