"""From raw results to a judgement. Pure functions; what is not known to be good is never passed.

Three things are kept apart: `failed` is the submission's, `error` is the evaluator's and makes a run invalid, and
`broken` is a report that cannot be read, where only a look at the untouched fixture tells whose fault that is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairtrial.documents import Measurement
from fairtrial.task.packed import Check, LauncherProbe, Pattern
from fairtrial_evaluator import junit, tap
from fairtrial_evaluator.plan import Planned
from fairtrial_evaluator.protocol import Outcome
from fairtrial_evaluator.results import TestReport, UnreadableResults, last_part
from fairtrial_evaluator.sentinel import Sentinel

NAMES_MAX = 200


@dataclass(frozen=True)
class Judgement:
    """What a check came to."""

    state: Literal["passed", "failed", "error", "broken"]
    reason: str = ""
    tests_passed: int = 0
    tests_failed: list[str] = field(default_factory=list)
    tests_missing: list[str] = field(default_factory=list)
    measurement: Measurement | None = None


PASSED = Judgement("passed")


def failed(reason: str, *, names: Sequence[str] = (), passed: int = 0, missing: Sequence[str] = ()) -> Judgement:
    """A failure of the submission."""
    return Judgement("failed", reason, passed, sorted(names)[:NAMES_MAX], sorted(missing)[:NAMES_MAX])


def process_fault(outcome: Outcome) -> Judgement | None:
    """What is wrong with a process before its results matter; None if nothing is."""
    raw = outcome.raw
    if raw.end == "not_started":
        return Judgement("error", f"not_started: {raw.error}")
    return failed("timed_out") if raw.timed_out else None


def judge_probe(probe: LauncherProbe, outcome: Outcome) -> str:
    """Why the launcher is not what the task needs; empty if it is."""
    raw = outcome.raw
    if raw.end != "exited" or raw.exit_code != 0 or raw.timed_out:
        return f"launcher_probe_failed: {ending(outcome)}"
    if not re.search(probe.pattern, outcome.stdout.decode("utf-8", "replace")):
        return f"launcher_probe_failed: its output does not match {probe.pattern!r}"
    return ""


def judge_command(check: Check, planned: Planned, outcome: Outcome) -> Judgement:
    """Exit code; and, where the check asks for results, the nonce that only a script run to its end writes."""
    if fault := process_fault(outcome):
        return fault
    if outcome.raw.end != "exited" or outcome.raw.exit_code not in check.expect_exit:
        return failed(f"exit_code: {ending(outcome)}")
    if planned.nonce and outcome.results.decode("utf-8", "replace").strip() != planned.nonce:
        return failed("no_proof: the process ended as if all were well, without the check having been completed")
    return PASSED


def judge_tests(check: Check, planned: Planned, outcome: Outcome) -> Judgement:
    """JUnit or TAP: every expected test there and passed, the sentinels as they must be, the exit code in agreement."""
    if fault := process_fault(outcome):
        return fault
    report = read_report(check.kind, outcome)
    if isinstance(report, Judgement):
        return report
    own = report.without(planned.sentinel.names if planned.sentinel else ())
    passed = own.of("passed")
    if check.expect_tests:
        missing = [name for name in check.expect_tests if name not in own.states]
        bad = [name for name in check.expect_tests if own.states.get(name, "passed") != "passed"]
        twice = [name for name in check.expect_tests if name in own.duplicates]
    else:
        missing, bad, twice = [], sorted(own.of("failed")), []
    if bad or missing:
        reason = "tests_failed" if bad else "tests_missing"
        return failed(reason, names=bad, passed=len(passed), missing=missing)
    if twice:
        return failed("forged_results: a test was reported twice", names=twice)
    if not check.expect_tests and len(passed) < check.min_tests:
        return failed(f"too_few_tests: {len(passed)} of {check.min_tests}", passed=len(passed))
    if fault := sentinel_fault(planned.sentinel, report, outcome):
        return fault
    return Judgement("passed", tests_passed=len(passed))


def read_report(kind: str, outcome: Outcome) -> TestReport | Judgement:
    """The report, or a judgement `broken` that says why there is none."""
    if outcome.raw.results != "read":
        return Judgement("broken", f"results_{outcome.raw.results}")
    try:
        if kind == "junit":
            return junit.parse(outcome.results)
        return tap.parse(outcome.results, project=outcome.raw.project)
    except UnreadableResults as error:
        return Judgement("broken", f"results_unreadable: {error.message}")


def sentinel_fault(sentinel: Sentinel | None, report: TestReport, outcome: Outcome) -> Judgement | None:
    """Whether somebody turned failures green: seen by the sentinels, and by an exit code that tells another story."""
    if sentinel is None:
        if outcome.raw.end != "exited" or outcome.raw.exit_code != 0:
            return failed(f"forged_results: all tests passed, but {ending(outcome)}")
        return None
    states = {last_part(name): state for name, state in report.states.items()}
    if not any(name in states for name in sentinel.names):
        return failed("forged_results: the sentinel tests are not in the report")
    if any(states.get(name) != "failed" for name in sentinel.must_fail):
        return failed("forged_results: a test that must fail did not")
    if any(states.get(name) != "passed" for name in sentinel.must_pass):
        return failed("forged_results: a test that must pass did not")
    if outcome.raw.end != "exited" or outcome.raw.exit_code == 0:
        return failed(f"forged_results: tests failed, as they must, but {ending(outcome)}")
    return None


def is_healthy(kind: str, outcome: Outcome) -> bool:
    """Whether the runner wrote readable results on the fixture: then it is the submission that breaks them."""
    return outcome.raw.end == "exited" and isinstance(read_report(kind, outcome), TestReport)


# --- submitted tests --------------------------------------------------------------------------------------------------
def judge_association(check: Check, sources: Mapping[str, bytes]) -> Judgement:
    """There are submitted tests, and each file of them names the target declaration."""
    assert check.target is not None
    if not sources:
        return failed("no_submitted_tests")
    word = re.compile(rf"(?<!\w){re.escape(check.target.name)}(?!\w)")
    strangers = [path for path, data in sources.items() if not word.search(data.decode("utf-8", "replace"))]
    return failed(f"not_associated: no mention of {check.target.name}", names=strangers) if strangers else PASSED


def judge_mutants(check: Check, runs: Sequence[tuple[Planned, Outcome]]) -> Judgement:
    """Submitted tests pass on correct code, together and file by file, and each mutant is failed by one of them."""
    accepted: frozenset[str] = frozenset()
    surviving = []
    for index, (planned, outcome) in enumerate(runs):
        label = planned.invocation.label.partition("-")[2]
        seen = _submitted(check, planned, outcome)
        if label.startswith("mutant-"):
            if isinstance(seen, Judgement) and seen.state == "error":
                return seen
            if isinstance(seen, Judgement) or not accepted & seen.of("failed"):
                surviving.append(label.removeprefix("mutant-"))
            continue
        if isinstance(seen, Judgement):
            return seen
        if bad := seen.of("failed"):
            return failed(f"tests_fail_on_correct_code: {label}", names=sorted(bad))
        if not seen.of("passed"):
            return failed(f"no_submitted_tests: {label}")
        accepted = seen.of("passed") if index == 0 else accepted
    if surviving:
        return failed("mutants_not_rejected", names=surviving, passed=len(accepted))
    return Judgement("passed", tests_passed=len(accepted))


def _submitted(check: Check, planned: Planned, outcome: Outcome) -> TestReport | Judgement:
    if fault := process_fault(outcome):
        return fault
    report = read_report(check.results, outcome)
    if isinstance(report, Judgement):
        return report
    own = report.without(planned.sentinel.names if planned.sentinel else ())
    if planned.sentinel and (fault := sentinel_fault(planned.sentinel, report, outcome)):
        # Tests that cannot even be collected keep the sentinels from running: that is a failure, not a forgery.
        return failed("tests_failed", names=sorted(own.of("failed"))) if own.of("failed") else fault
    return own


# --- what must be refused, equal or gone ------------------------------------------------------------------------------
def judge_compile(check: Check, runs: Sequence[tuple[Planned, Outcome]]) -> Judgement:
    """The control is accepted, each source is refused, and for the reason that the task names."""
    accepted = []
    for index, (planned, outcome) in enumerate(runs):
        label = planned.invocation.label.partition("-")[2]
        raw = outcome.raw
        if fault := process_fault(outcome):
            return fault
        if raw.end != "exited":
            return Judgement("error", f"compiler_crashed: {label}: {ending(outcome)}")
        if index == 0 and raw.exit_code != 0:
            return failed(f"control_refused: {label}: {ending(outcome)}")
        if index == 0:
            continue
        if raw.exit_code == 0:
            accepted.append(label)
        elif raw.exit_code not in check.reject_exit:
            return Judgement("error", f"compiler_failed: {label}: {ending(outcome)}")
        elif not re.search(check.diagnostic, (outcome.stdout + outcome.stderr).decode("utf-8", "replace")):
            return failed(f"refused_for_another_reason: {label}")
    return failed("accepted_what_must_be_refused", names=accepted) if accepted else PASSED


def judge_unchanged(submission: Mapping[str, str], base: Mapping[str, str], touched: Sequence[str]) -> Judgement:
    """The same files with the same bytes; `touched` are protected paths that had been changed before restoring."""
    changed = {path for path in submission.keys() | base.keys() if submission.get(path) != base.get(path)}
    return failed("changed", names=sorted(changed | set(touched))) if changed or touched else PASSED


def judge_absent(
    patterns: Sequence[Pattern], present: Sequence[str], sources: Sequence[Mapping[str, bytes]]
) -> Judgement:
    """No such file, and no such pattern: `sources` holds for each pattern the files that its glob names."""
    found = set(present)
    for pattern, files in zip(patterns, sources, strict=True):
        compiled = re.compile(pattern.pattern, re.MULTILINE)
        found |= {path for path, data in files.items() if compiled.search(data.decode("utf-8", "replace"))}
    return failed("still_there", names=sorted(found)) if found else PASSED


def ending(outcome: Outcome) -> str:
    """How a process ended, in words."""
    raw = outcome.raw
    if raw.timed_out:
        return "it ran out of time"
    return f"signal {raw.signal}" if raw.end == "signaled" else f"exit code {raw.exit_code}"
