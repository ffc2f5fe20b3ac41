"""`fairtrial try` before anything is started: which file, which task, which paths; and how a result is shown."""

import dataclasses
import io
import sys
from pathlib import Path

import pytest
import yaml
from fairtrial_runner.places import Places
from rich.console import Console

from fairtrial import cli, plans
from fairtrial.classify import classify, facts_of
from fairtrial.cli.localise import localised
from fairtrial.cli.tried import LABEL, Tried, show, summary
from fairtrial.cli.try_run import read_run, task_beside
from fairtrial.errors import InvalidInput
from fairtrial.testing import (
    agent_report,
    check_result,
    evaluation_report,
    make_finished_run,
    make_resource_class,
    make_run,
    make_task,
)

PLACES = Places(*(Path("/x", name) for name in ("fairtrial", "workspace", "home", "tmp", "s", "spool", "log", "token")))


def local_argv(item: str) -> str:
    plan = plans.agent_plan(make_run(candidate={"argv": [item]}), make_task(), make_resource_class(), probes=[])
    return localised(plan, PLACES).steps[0].argv[0]


@pytest.mark.parametrize(
    ("item", "here"),
    [
        ("{projectDir}", "/x/workspace/project"),
        ("{taskFile}", "/x/workspace/TASK.md"),
        ("/fairtrial/candidate/solve.py", "/x/fairtrial/candidate/solve.py"),
        ("--dir=/workspace/project/src", "--dir=/x/workspace/project/src"),
        ("/workspace:/home/agent", "/x/workspace:/x/home"),
        ("see /workspace.", "see /x/workspace."),
        ("file:///workspace/a", "file:///x/workspace/a"),
        ("/opt/workspace/bin", "/opt/workspace/bin"),
        ("/workspaces/one", "/workspaces/one"),
        ("/workspace-2", "/workspace-2"),
        ("../workspace", "../workspace"),
        ("$HOME/workspace", "$HOME/workspace"),
        ("${HOME}/workspace", "${HOME}/workspace"),
        ("/bin/echo", "/bin/echo"),
    ],
)
def test_paths_of_a_pod_become_local_ones_and_others_stay(item, here):
    assert local_argv(item) == here


def test_every_part_of_a_plan_that_names_paths_is_moved():
    run = make_run(
        candidate={
            "argv": ["/bin/agent"],
            "stdin": "prompt",
            "env": [{"name": "SRC", "value": "/workspace/project"}],
            "files": {"run.sh": "cd /workspace/project\n"},
            "homeFiles": {".settings": "/home/agent/log"},
        }
    )
    task = make_task(
        steps=[{"name": "only", "prompt": "Work in /workspace/project.", "wallSeconds": 60}],
        preflight=[{"name": "there", "argv": ["test", "-d", "/workspace/project"], "expectExit": [0]}],
    )

    plan = localised(plans.agent_plan(run, task, make_resource_class(), probes=[]), PLACES)

    assert plan.steps[0].stdin == "Work in /x/workspace/project."
    assert plan.preflight[0].argv == ["test", "-d", "/x/workspace/project"]
    assert plan.env == {"SRC": "/x/workspace/project"}
    assert plan.candidate_files == {"run.sh": "cd /x/workspace/project\n"}
    assert plan.home_files == {".settings": "/x/home/log"}


def test_what_was_moved_is_not_moved_again():
    places = dataclasses.replace(PLACES, workspace=Path("/workspace/mine"))
    plan = plans.agent_plan(make_run(candidate={"argv": ["{taskFile}"]}), make_task(), make_resource_class(), probes=[])

    assert localised(plan, places).steps[0].argv == ["/workspace/mine/TASK.md"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds 0 BenchmarkRuns"),
        ("kind: BenchmarkRun\n---\nkind: BenchmarkRun\n", "holds 2 BenchmarkRuns"),
        ("a: [", "cannot be read"),
        ("kind: BenchmarkRun\nspec: {}\n", "run.yaml"),
    ],
)
def test_a_file_that_is_not_one_run_is_refused_by_name(tmp_path, text, says):
    file = tmp_path / "run.yaml"
    file.write_text(text)

    with pytest.raises(InvalidInput, match=says):
        read_run(file)


def test_the_task_lies_beside_the_folder_of_runs(tmp_path):
    folder = tmp_path / "tasks" / "add-v-feature"
    folder.mkdir(parents=True)
    (folder / "task.yaml").touch()

    assert task_beside(tmp_path / "runs" / "run.yaml", "add-v-feature-v12") == folder
    with pytest.raises(InvalidInput, match="--task FOLDER"):
        task_beside(tmp_path / "runs" / "run.yaml", "other-v1")


def test_an_error_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fairtrial", "try", str(tmp_path / "none.yaml")])

    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1


def tried(**agent: object) -> Tried:
    report, judged = agent_report(**agent), evaluation_report(checks=[check_result("failed", reason="odd [/b]")])
    judged = dataclasses.replace(judged, verdict="failed")
    return Tried("run-1", report, judged, classify(facts_of(make_finished_run(), report, judged)))


def test_a_result_is_shown_with_outcome_cause_reason_checks_and_timings():
    console = Console(file=io.StringIO(), width=200)

    show(console, tried(message="said \x1b[2J"), Path("/kept/here"))

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("failed", "agent_failure", "checks_failed · acceptance_failure", "odd [/b]", "exit code 0"):
        assert text in shown
    for text in ("agent 60000 ms", "checks 900 ms", "/kept/here", "said \ufffd[2J"):
        assert text in shown


def test_the_summary_says_first_that_it_is_no_evidence():
    assert next(iter(summary(tried()).items())) == ("what", LABEL)


def test_example_runs_can_be_read_once_they_are_rendered(tmp_path):
    from examples.demo import tries

    for name in tries.RUNS:
        file = tries.run_file(name, tmp_path)
        assert read_run(file).metadata.name == name
        assert yaml.safe_load(file.read_text())["spec"]["candidate"]["image"].endswith(tries.NO_DIGEST)
