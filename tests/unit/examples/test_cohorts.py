"""Every example cohort could be sealed once it is rendered, and its scripted candidates do what it says of them."""

import functools
import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from fairtrial_analysis.rule.evaluate import evaluate
from fairtrial_analysis.rule.lint import lint
from fairtrial_analysis.rule.model import rule_of_spec
from fairtrial_analysis.rule.results import Design, GateEvidence, Results, Trial

from examples import render
from fairtrial.api import BenchmarkCohort, parse
from fairtrial.cohort.acceptance import problems
from fairtrial.cohort.schedule import schedule_of
from fairtrial.task.load import load

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
FILES = sorted((EXAMPLES / "cohorts").glob("*.yaml"))
PAIRED = EXAMPLES / "cohorts" / "paired.yaml"
SCHEDULE_SHA256 = "1e094f631390a082b653530e40249db06bdd20b1cd032b7d7dcb508d563e4f85"  # as `fairtrial plan` prints it
IMAGES = {name: f"localhost/fairtrial/{name}@sha256:{'0' * 64}" for name in ("python", "analysis")}
FOLDERS = sorted(path.parent for path in (EXAMPLES / "tasks").glob("*/task.yaml"))


@functools.cache
def task_file(folder: Path) -> Any:
    return load(folder).file


def pushed() -> dict[str, dict[str, str]]:
    """The digests of all example tasks, had they been pushed."""
    digests = [hashlib.sha256(folder.name.encode()).hexdigest() for folder in FOLDERS]
    return {
        f"{folder.name}-v{task_file(folder).version}": {"publicSha256": digest, "sealedSha256": digest}
        for folder, digest in zip(FOLDERS, digests, strict=True)
    }


@functools.cache
def rendered(file: Path) -> BenchmarkCohort:
    (document,) = render.render_file(file, IMAGES, pushed())
    return parse(BenchmarkCohort, document)


cohorts = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def test_there_is_an_example():
    assert [file.stem for file in FILES] == ["paired", "runtime"]


@cohorts
def test_it_could_be_sealed_and_is_named_like_its_file(file: Path):
    cohort = rendered(file)
    assert cohort.metadata.name == file.stem
    assert [str(problem) for problem in problems(cohort)] == []
    assert cohort.spec.seal is False  # reading comes before sealing


@cohorts
def test_every_task_that_it_names_is_an_example_for_an_agent_in_its_image(file: Path):
    cohort = rendered(file)
    names = [task.name for task in cohort.spec.tasks]
    folders = [EXAMPLES / "tasks" / name.rpartition("-v")[0] for name in names]
    assert names == [f"{folder.name}-v{task_file(folder).version}" for folder in folders]
    assert {task_file(folder).agent_image for folder in folders} == {"python"}


@cohorts
def test_the_evidence_of_its_gates_is_what_its_digest_says(file: Path):
    spec = rendered(file).spec
    shown = [one for gate in spec.gates for one in gate.evidence]
    assert shown or spec.stage != "confirmatory"
    for one in shown:
        scheme, _, path = one.uri.partition(":")
        assert scheme == "repository"
        data = (ROOT / path).read_bytes()
        assert hashlib.sha256(data).hexdigest() == one.sha256, f"{path} has changed: put its digest into {file.name}"


@cohorts
def test_its_decision_rule_can_decide(file: Path):
    spec = rendered(file).spec
    if spec.decision_rule is None:
        assert spec.stage != "confirmatory"
        return
    treatment, control = (next(c.name for c in spec.candidates if c.role == role) for role in ("treatment", "control"))
    rule = rule_of_spec(spec.as_json()["decisionRule"], treatment, control)
    design = Design(tuple(task.name for task in spec.tasks), (treatment, control), spec.repetitions)
    assert [found for found in lint(rule, design) if found.severity == "error"] == []


# The ten categories of the paired experiment, by the words that name them.
CATEGORIES = (
    "simple feature addition", "field propagation", "cross-feature rule", "external service adapter",
    "localized defect", "misleading symptom", "authorization change", "schema migration", "operation rename",
    "read-only",
)  # fmt: skip


def test_the_paired_cohort_has_one_task_of_each_category():
    named = [task.category or "" for task in rendered(PAIRED).spec.tasks]
    assert sorted(next(c for c in CATEGORIES if c in name) for name in named) == sorted(CATEGORIES)


def test_the_paired_cohort_has_a_hundred_runs_in_an_order_that_never_changes():
    cohort = rendered(PAIRED)
    schedule = schedule_of(cohort)
    assert (len(schedule.entries), schedule.entries[0].run) == (100, "paired-00001")
    assert hashlib.sha256(schedule.to_bytes()).hexdigest() == SCHEDULE_SHA256
    assert cohort.spec.candidates[0].files == cohort.spec.candidates[1].files


@pytest.mark.parametrize(
    ("broken", "verdict"), [(set(), "SUPPORTED"), ({"one run of a cell"}, "INCONCLUSIVE")], ids=["whole", "short"]
)
def test_the_paired_cohort_comes_to_the_verdict_that_it_promises(scripted: Any, broken: set[str], verdict: str):
    spec, schedule = rendered(PAIRED).spec, schedule_of(rendered(PAIRED))
    trials = [
        Trial(
            entry.run,
            entry.task,
            entry.candidate,
            entry.repetition,
            "failed" if entry.candidate == "one-look" and scripted.forgets(f"{entry.run}-agent") else "passed",
        )
        for entry in schedule.entries
    ]
    trials[0] = replace(trials[0], outcome="invalid") if broken else trials[0]
    rule = rule_of_spec(spec.as_json()["decisionRule"], "second-look", "one-look")
    design = Design(tuple(task.name for task in spec.tasks), ("second-look", "one-look"), spec.repetitions)
    gates = {name: GateEvidence("pass", ("shown",)) for name in rule.gates}

    decision = evaluate(rule, Results(design, tuple(trials), gates=gates))

    assert decision.verdict == verdict
    if not broken:
        passed = sum(trial.passed for trial in trials if trial.arm == "one-look")
        line = next(line for line in decision.lines if line.name == "more-successes")
        assert line.interval is not None
        said = f"with one look {passed} of 50 do. So the difference is\n# {float(line.observed or 0):.2f} with a"
        assert said in PAIRED.read_text()
        assert f"interval from {float(line.interval[0] or 0):.3f} on" in PAIRED.read_text()


def test_a_replacement_forgets_as_the_run_that_it_replaces_did(scripted: Any):
    runs = [entry.run for entry in schedule_of(rendered(PAIRED)).entries]
    assert [scripted.forgets(f"{run}-r2-agent") for run in runs] == [scripted.forgets(f"{run}-agent") for run in runs]


def test_a_task_that_was_not_pushed_is_named():
    with pytest.raises(SystemExit, match="no task 'billing-symptom-v1' among"):
        render.render_file(PAIRED, IMAGES)


def test_the_command_prints_what_the_library_makes(tmp_path: Path):
    images, tasks = tmp_path / "images.json", tmp_path / "tasks.json"
    images.write_text(json.dumps(IMAGES))
    items = [
        {
            "metadata": {"name": name},
            "spec": {
                "publicArchive": {"sha256": digests["publicSha256"]},
                "sealedArchive": {"sha256": digests["sealedSha256"]},
            },
        }
        for name, digests in pushed().items()
    ]
    tasks.write_text(json.dumps({"items": items}))
    argv = [sys.executable, "-m", "examples.render", "--images", str(images), "--tasks", str(tasks)]
    done = subprocess.run([*argv, str(EXAMPLES / "cohorts")], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "&id" not in done.stdout  # readers that know no aliases read it too
    printed = [parse(BenchmarkCohort, document) for document in yaml.safe_load_all(done.stdout)]
    assert printed == [rendered(file) for file in FILES]


# --- the scripted candidates ------------------------------------------------------------------------------------------
@pytest.fixture
def scripted(tmp_path: Path) -> ModuleType:
    """The script with its files beside it, as in a pod."""
    for name, text in rendered(PAIRED).spec.candidates[0].files.items():
        (tmp_path / name).write_text(text)
    module = ModuleType("scripted")
    module.__file__ = str(tmp_path / "scripted.py")
    exec(compile((tmp_path / "scripted.py").read_text(), module.__file__, "exec"), module.__dict__)
    return module


LOCAL = [  # their fixtures need no download
    folder
    for task in yaml.safe_load(PAIRED.read_text())["spec"]["tasks"]
    if (EXAMPLES / "tasks" / (folder := task["name"].removesuffix("-v1")) / "project").is_dir()
]


@pytest.mark.parametrize("task", LOCAL)
@pytest.mark.parametrize(
    ("remembers", "looks", "works"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_a_second_look_finds_what_was_forgotten(
    scripted: Any, tmp_path: Path, monkeypatch: Any, task: str, remembers: bool, looks: bool, works: bool
):
    project = tmp_path / "work"
    shutil.copytree(EXAMPLES / "tasks" / task / "project", project)
    before = contents(project)
    host = next(f"paired-{n:05d}-agent" for n in range(100) if scripted.forgets(f"paired-{n:05d}-agent") != remembers)
    monkeypatch.setattr(scripted.platform, "node", lambda: host)
    monkeypatch.setattr(sys, "argv", ["scripted.py", *(["--second-look"] if looks else []), str(project)])

    scripted.main()

    assert (contents(project) != before) is works
    if works:  # and what has changed is the reference solution, file by file
        reference = contents(EXAMPLES / "tasks" / task / "sealed" / "reference")
        assert contents(project).items() >= reference.items()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_about_one_run_in_three_is_forgotten(scripted: Any):
    runs = [entry.run for entry in schedule_of(rendered(PAIRED)).entries]
    forgotten = [run for run in runs if scripted.forgets(f"{run}-agent")]
    assert 20 <= len(forgotten) <= 45


def test_a_project_that_it_does_not_know_is_said_to_be_unknown(scripted: Any, tmp_path: Path):
    (tmp_path / "nothing").mkdir()
    with pytest.raises(SystemExit, match="looks like 0 of the tasks"):
        scripted.task_of(tmp_path / "nothing")
