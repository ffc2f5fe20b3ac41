"""Every example task is well-formed, keeps its sealed part to itself, and together they cover every kind of task."""

import functools
from pathlib import Path

import pytest

from fairtrial.task import load as tasks
from fairtrial.task.leaks import find_leaks

TASKS = Path(__file__).parents[3] / "examples" / "tasks"
FOLDERS = sorted(path.parent for path in TASKS.glob("*/task.yaml"))


load = functools.cache(tasks.load)


def contents(folder: Path, prefix: str = "") -> dict[str, bytes]:
    return {prefix + str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_there_are_enough() -> None:
    assert len(FOLDERS) >= 7


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_task_loads_under_the_name_of_its_folder(folder: Path) -> None:
    task = load(folder)
    assert task.file.name == folder.name
    assert task.file.evaluator_image in {"python", "node"}
    assert task.file.family == "measurement" or any(check.negative_control for check in task.evaluation.checks)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_the_agent_gets_holds_nothing_sealed(folder: Path) -> None:
    task = load(folder)
    public = contents(folder / "project", "project/") | {"TASK.md": (folder / "TASK.md").read_bytes()}
    sealed = {path: data for path, data in contents(folder / "sealed").items() if path != "canary.txt"}
    assert find_leaks(public, sealed, task.evaluation) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_fixture_is_written_here_or_pinned(folder: Path) -> None:
    source = load(folder).file.source
    if source is None:
        assert contents(folder / "project")
    else:
        assert source.base.sha256 != source.solution.sha256


def test_every_kind_of_task_has_an_example() -> None:
    families = {load(folder).file.family for folder in FOLDERS}
    assert families >= {"defect", "feature", "typeFix", "rename", "apiChange", "testAddition"}


def test_three_are_made_of_published_packages_and_agents_meet_two_languages() -> None:
    made = {load(folder).file.family for folder in FOLDERS if load(folder).file.source}
    assert made >= {"defect", "feature", "rename"}
    assert len({load(folder).file.language for folder in FOLDERS}) > 1


def test_both_states_of_the_measured_program_are_measured_alike() -> None:
    eager, lazy = (load(TASKS / f"startup-{state}") for state in ("eager", "lazy"))
    assert eager.evaluation == lazy.evaluation
    assert {check.metric for check in eager.evaluation.checks if check.kind == "measurement"} == {
        "cold_start_ms", "peak_bytes", "warm_dispatch_ms", "clean_build_ms",
    }  # fmt: skip
    differ = contents(eager.folder / "project").items() ^ contents(lazy.folder / "project").items()
    assert {path for path, _ in differ} == {"menu/commands.py"}


def test_canaries_differ() -> None:
    canaries = [(folder / "sealed" / "canary.txt").read_text() for folder in FOLDERS]
    assert len(set(canaries)) == len(canaries)


def test_added_tests_are_tried_on_negative_zero_and_positive() -> None:
    checks = [check for check in load(TASKS / "test-addition").evaluation.checks if check.kind == "mutants"]
    assert [{mutant.name for mutant in check.mutants} for check in checks] == [{"negative", "zero", "positive"}]
