"""Every example run ends with exactly the outcome, cause, reason and category that its README line promises."""

from typing import Any

import pytest

from tests.e2e.conftest import Run, World

PASSED = ("passed", "none", "all_checks_passed", None)


def failed(category: str, reason: str = "checks_failed", cause: str = "agent_failure") -> tuple[str, str, str, str]:
    return "failed", cause, reason, category


REFERENCES = (
    "parse-defect",
    "cachetools-feature",
    "hashids-rename",
    "node-feature",
    "types-fix",
    "api-change",
    "test-addition",
    "busybox",
    "billing-symptom",
    "courier-question",
    "giftcard-rule",
    "notes-authorization",
    "orders-migration",
    "rates-adapter",
    "stock-field",
)
EXPECTED: dict[str, tuple[str, str, str, str | None]] = {
    **{f"reference-{task}": PASSED for task in REFERENCES},
    "noop-parse-defect": failed("incorrect_diagnosis"),
    "noop-test-addition": failed("incomplete_implementation"),
    "noop-courier-question": failed("incorrect_diagnosis"),
    "noop-stock-field": failed("incomplete_implementation"),
    "wrong-parse-defect": failed("incorrect_diagnosis"),
    "wrong-hashids-rename": failed("prohibited_shortcut"),
    "wrong-node-feature": failed("acceptance_failure"),
    "wrong-api-change": failed("incomplete_implementation"),
    "wrong-test-addition": failed("incomplete_implementation"),
    "tamperer-parse-defect": failed("prohibited_shortcut", "tampering", "policy_violation"),
    "forger-parse-defect": failed("prohibited_shortcut", "tampering", "policy_violation"),
    "quitter-parse-defect": failed("incorrect_diagnosis"),
    "crasher-exit-parse-defect": failed("incorrect_diagnosis"),
    "crasher-137-parse-defect": failed("incorrect_diagnosis"),
    "crasher-segfault-parse-defect": failed("incorrect_diagnosis"),
    "sleeper-parse-defect": failed("time_limit", "deadline", "budget_exhausted"),
    "sleeper-solved-parse-defect": failed("time_limit", "deadline", "budget_exhausted"),
    "memory-hog-parse-defect": failed("incorrect_diagnosis"),
    "memory-hog-child-parse-defect": failed("incorrect_diagnosis"),
    "disk-filler-parse-defect": failed("agent_operational_error", "out_of_disk"),
    "killer-kill-1-parse-defect": failed("incorrect_diagnosis"),
    "killer-term-1-parse-defect": failed("incorrect_diagnosis"),
    "killer-kill-all-parse-defect": failed("incorrect_diagnosis"),
    "fork-bomb-parse-defect": failed("incorrect_diagnosis"),
    "talker-parse-defect": failed("incorrect_diagnosis"),
}


@pytest.fixture(scope="module")
def ended(world: World, example_runs: dict[str, Run]) -> "Ended":
    return Ended(world, example_runs)


class Ended:
    """Runs and records by name, each waited for once."""

    def __init__(self, world: World, applied: dict[str, Run]) -> None:
        self.world, self.applied = world, applied
        self._runs: dict[str, Run] = {}

    def run(self, name: str) -> Run:
        if name not in self._runs:
            self._runs[name] = self.world.recorded(name, seconds=900)
        return self._runs[name]

    def record(self, name: str) -> dict[str, Any]:
        return self.world.record(self.run(name))

    def text(self, name: str, artifact: str) -> str:
        return self.world.artifact(self.run(name), artifact).decode("utf-8", "replace")


def test_every_example_run_has_an_expectation(example_runs: dict[str, Run]) -> None:
    assert example_runs.keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_outcome_is_the_promised_one(ended: Ended, name: str) -> None:
    status = ended.run(name)["status"]

    assert (status["outcome"], status["cause"], status["reason"], status.get("category")) == EXPECTED[name]
    classification = ended.record(name)["classification"]
    assert (classification["outcome"], classification["cause"]) == EXPECTED[name][:2]


def tags(ended: Ended, name: str) -> set[str]:
    return set(ended.record(name)["classification"]["tags"])


def test_isolation_was_proven_by_destinations_that_would_have_answered(ended: Ended) -> None:
    run = ended.run("reference-parse-defect")

    assert ended.world.condition(run, "IsolationProven")["status"] == "True"
    report = ended.text("reference-parse-defect", "agent/report.json")
    for destination in ("api-server", "canary-service", "canary-pod-0"):
        assert f'"{destination}"' in report
    assert "connected" not in report


def test_the_record_is_about_the_images_that_the_node_ran(ended: Ended) -> None:
    run = ended.run("reference-busybox")

    assert run["spec"]["candidate"]["image"] in str(ended.record("reference-busybox"))


def test_a_timeout_with_a_correct_workspace_keeps_both_facts(ended: Ended) -> None:
    report = ended.text("sleeper-solved-parse-defect", "evaluation/report.json")

    assert '"verdict":"passed"' in report


def test_an_exit_code_that_looks_like_a_kill_is_an_exit_code(ended: Ended) -> None:
    assert "exit_nonzero" in tags(ended, "crasher-137-parse-defect")
    assert not tags(ended, "crasher-137-parse-defect") & {"oom_killed", "killed_by_signal"}
    assert "killed_by_signal" in tags(ended, "crasher-segfault-parse-defect")


def test_pid_1_cannot_be_killed_and_the_agent_learns_nothing_by_it(ended: Ended) -> None:
    for how in ("kill-1", "term-1", "kill-all"):
        assert "still here" in ended.text(f"killer-{how}-parse-defect", "agent/streams/stdout/000000")


def test_what_a_fork_bomb_left_was_swept_and_counted(ended: Ended) -> None:
    assert "processes_left" in tags(ended, "fork-bomb-parse-defect")


def test_a_background_writer_is_dead_before_the_snapshot(ended: Ended) -> None:
    assert "processes_left" in tags(ended, "tamperer-parse-defect")


def test_a_hundred_mebibytes_of_output_are_counted_whole_and_kept_in_part(ended: Ended) -> None:
    streams = {s["name"]: s for s in ended.record("talker-parse-defect")["interaction"]["streams"]}

    assert streams["stdout"]["bytesSeen"] == 104857624
    assert streams["stdout"]["truncated"] and streams["stdout"]["bytesKept"] <= 33554432


def test_nothing_sealed_reached_an_agents_pod_or_its_artifacts(ended: Ended) -> None:
    for name in ("reference-parse-defect", "tamperer-parse-defect", "reference-busybox"):
        run = ended.run(name)
        pod = ended.world.kubectl.run("get", "pod", f"{name}-agent", "-o", "yaml")
        assert run["status"]["task"]["sealedSha256"] not in pod
        for artifact in ended.record(name)["artifacts"]:
            if artifact["name"].startswith("agent/"):
                assert b"fairtrial-canary-" not in ended.world.artifact(run, artifact["name"])


def test_a_run_without_trouble_makes_no_event(ended: Ended) -> None:
    ended.run("reference-parse-defect")
    selector = "involvedObject.kind=BenchmarkRun,involvedObject.name=reference-parse-defect"

    assert ended.world.kubectl.get("events", "--field-selector", selector)["items"] == []


def test_every_run_was_recorded_once_and_holds_no_finalizer(ended: Ended) -> None:
    for name in EXPECTED:
        run = ended.run(name)
        assert not ended.world.get(name)["metadata"].get("finalizers"), name
        assert run["status"]["phase"] == "Done"
