"""One evaluation from the launcher's probe to the verdict: asks for runs, keeps their evidence, has them judged."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from fairtrial import documents
from fairtrial.documents import Artifact, CheckResult
from fairtrial.errors import ChannelBroken, FairtrialError, InvalidInput
from fairtrial.task.globs import matcher
from fairtrial.task.packed import Check, Evaluation
from fairtrial_evaluator import judge, measure
from fairtrial_evaluator.judge import Judgement
from fairtrial_evaluator.plan import MAX_TEST_FILES, Planned, Planner
from fairtrial_evaluator.protocol import Hello, Outcome, Remote, TreeName

HELLO_SECONDS = 300
NegativeControl = Literal["passed", "failed", "not_applicable", "not_reached"]


class Evidence(Protocol):
    """Where raw results are kept, once."""

    def put(self, name: str, data: bytes, media_type: str) -> Artifact:
        """Keep one artifact."""


class EvaluationStopped(FairtrialError):
    """The evaluation cannot go on; nothing that it has not reached is judged."""

    reason = "EvaluationStopped"


@dataclass
class Session:
    """The judge's side of one evaluation. `token` is random; `deadline` is on the monotonic clock."""

    evaluation: Evaluation
    sealed: Mapping[str, bytes]
    launcher: Sequence[str]
    remote: Remote
    evidence: Evidence
    token: str
    deadline: float
    progress: Callable[[str], None] = lambda _: None
    verdict: Literal["passed", "failed", "error"] = "error"
    reason: str = ""
    hello: Hello = field(default_factory=lambda: Hello([], [], {}))
    checks: list[CheckResult] = field(default_factory=list)
    negative_control: NegativeControl = "not_reached"
    timings_ms: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._planner = Planner(self.evaluation, self.launcher, self.token)
        self._kept: list[Artifact] = []
        self._ran: list[Outcome] = []

    def evaluate(self) -> None:
        """Run all checks; what came of it is in the fields above, whatever happens. The caller ends the remote."""
        began = time.monotonic()
        try:
            self.hello = self.remote.hello(HELLO_SECONDS)
            self.reason = self._probe()
            if not self.reason:
                self._checks()
                self.verdict, self.reason = conclude(self.checks, self.negative_control)
        except EvaluationStopped as error:
            self._stopped(f"evaluation_deadline: {error.message}")
        except TimeoutError as error:
            self._stopped(f"checks_lost: {error}")
        except (ChannelBroken, InvalidInput) as error:
            self._stopped(f"checks_lost: {error.message}")
        self.timings_ms["evaluation"] = int((time.monotonic() - began) * 1000)

    def _stopped(self, reason: str) -> None:
        self.verdict, self.reason = "error", reason
        self.checks += not_reached(self.evaluation.checks[len(self.checks) :])

    def _probe(self) -> str:
        probe, planned = self.evaluation.launcher_probe, self._planner.probe()
        if probe is None or planned is None:
            return ""
        self._kept = []
        return judge.judge_probe(probe, self._run("launcher", planned))

    def _checks(self) -> None:
        controls = []
        for check in self.evaluation.checks:
            self.progress(check.name)
            self._kept, self._ran = [], []
            judgement = self._judge(check, "submission")
            result = _result(check, judgement, self._ran)
            if check.negative_control:
                self.progress(f"{check.name}: on the untouched fixture")
                controls.append(self._judge(check, "base"))
            self.checks.append(_with_evidence(result, self._kept))
        self.negative_control = control_state(controls)

    def _judge(self, check: Check, tree: TreeName) -> Judgement:
        judgement = self._judge_raw(check, tree)
        if judgement.state != "broken":
            return judgement
        # Results that cannot be read: the submission's fault exactly if the same runner can write them on the fixture.
        kind = check.results if check.kind == "mutants" else check.kind
        if judge.is_healthy(kind, self._run(check.name, self._planner.health(check))):
            return judge.failed(judgement.reason)
        return Judgement("error", f"{judgement.reason}; so too on the fixture")

    def _judge_raw(self, check: Check, tree: TreeName) -> Judgement:
        if check.kind == "unchanged":
            return self._unchanged(check)
        if check.kind == "absent":
            return self._absent(check, tree)
        if check.kind == "mutants":
            return self._mutants(check, tree)
        if check.kind == "mustNotCompile":
            runs = self._planner.compile_runs(check, tree)
            return judge.judge_compile(check, [(planned, self._run(check.name, planned)) for planned in runs])
        if check.kind == "measurement":
            runs = self._planner.measured_runs(check, tree)
            return measure.judge_measurement(check, (self._run(check.name, planned) for planned in runs))
        planned = self._planner.single(check, tree)
        outcome = self._run(check.name, planned)
        if check.kind == "command":
            return judge.judge_command(check, planned, outcome)
        return judge.judge_tests(check, planned, outcome)

    def _unchanged(self, check: Check) -> Judgement:
        mine, theirs = (
            {path: digest for path, (digest, _) in self.remote.select(tree, check.paths).items()}
            for tree in ("submission", "base")
        )
        return judge.judge_unchanged(mine, theirs, [*filter(matcher(check.paths), self.hello.protected_touched)])

    def _absent(self, check: Check, tree: TreeName) -> Judgement:
        present = sorted(self.remote.select(tree, check.paths)) if check.paths else []
        sources = [self._contents(tree, [pattern.glob]) for pattern in check.patterns]
        return judge.judge_absent(check.patterns, present, sources)

    def _mutants(self, check: Check, tree: TreeName) -> Judgement:
        sources = self._contents(tree, check.tests)
        if len(sources) > MAX_TEST_FILES:
            return judge.failed(f"too_many_test_files: {len(sources)}, at most {MAX_TEST_FILES}")
        association = judge.judge_association(check, sources)
        if association.state != "passed":
            return association
        runs = self._planner.mutant_runs(check, tree, sorted(sources))
        return judge.judge_mutants(check, [(planned, self._run(check.name, planned)) for planned in runs])

    def _contents(self, tree: TreeName, patterns: list[str]) -> dict[str, bytes]:
        return {path: data for path, (_, data) in self.remote.select(tree, patterns, contents=True).items()}

    def _run(self, check: str, planned: Planned) -> Outcome:
        wanted, left = planned.invocation.timeout_seconds, int(self.deadline - time.monotonic())
        if left < 1:
            raise EvaluationStopped(f"before {check}, {planned.invocation.label}")
        invocation = dataclasses.replace(planned.invocation, timeout_seconds=min(wanted, left))
        outcome = self.remote.run(invocation, planned.files(self.sealed))
        folder = f"results/{check}/{planned.invocation.label}"
        raw = documents.dump(outcome.raw)
        self._kept.append(self.evidence.put(f"{folder}/invocation.json", raw, "application/json"))
        for name in ("stdout", "stderr", "results"):
            if data := getattr(outcome, name):
                self._kept.append(self.evidence.put(f"{folder}/{name}.txt", data, "application/octet-stream"))
        self._ran.append(outcome)
        if outcome.raw.timed_out and left < wanted:
            # It had less than its own time: that it did not end says nothing about the submission.
            raise EvaluationStopped(f"in {check}, {planned.invocation.label}")
        return outcome


def not_reached(checks: Sequence[Check]) -> list[CheckResult]:
    """Results of checks that nobody came to."""
    return [CheckResult(check.name, check.kind, "error", check.category, "not_reached") for check in checks]


def conclude(
    checks: Sequence[CheckResult], control: NegativeControl
) -> tuple[Literal["passed", "failed", "error"], str]:
    """The verdict. What could not be judged makes all unknown; nothing judged is unknown too."""
    broken = [check for check in checks if check.state == "error"]
    if broken or not checks:
        return "error", f"check_error: {broken[0].name}: {broken[0].reason}" if broken else "no_checks"
    if control == "failed":
        return "error", "negative_control_passed: a check that must fail on the untouched fixture did not"
    bad = [check for check in checks if check.state == "failed"]
    return ("failed", f"{bad[0].name}: {bad[0].reason}") if bad else ("passed", "")


def control_state(controls: Sequence[Judgement]) -> NegativeControl:
    """Whether every check that must fail on the untouched fixture did."""
    if not controls:
        return "not_applicable"
    return "passed" if all(control.state == "failed" for control in controls) else "failed"


def _result(check: Check, judgement: Judgement, ran: Sequence[Outcome]) -> CheckResult:
    first = ran[0].raw if ran else None
    return CheckResult(
        name=check.name,
        kind=check.kind,
        state=judgement.state if judgement.state != "broken" else "error",
        category=check.category,
        reason=judgement.reason,
        exit_code=first.exit_code if first else None,
        signal=first.signal if first else None,
        timed_out=any(outcome.raw.timed_out for outcome in ran),
        duration_ms=sum(outcome.raw.duration_ms for outcome in ran),
        tests_passed=judgement.tests_passed,
        tests_failed=judgement.tests_failed,
        tests_missing=judgement.tests_missing,
        measurement=judgement.measurement,
    )


def _with_evidence(result: CheckResult, kept: Sequence[Artifact]) -> CheckResult:
    return dataclasses.replace(result, evidence=list(kept))
