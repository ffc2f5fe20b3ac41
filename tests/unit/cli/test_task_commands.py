"""`fairtrial task …` as people run it: exit codes, one-line errors, and nothing overwritten."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from fairtrial import cli
from fairtrial.task.scaffold import create

DIGEST = "registry.example/python@sha256:" + "a" * 64


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task that costs one short process: the hidden check compares a file."""
    create(tmp_path / "t", "feature")
    folder = tmp_path / "t"
    (folder / "sealed/checks").mkdir()
    (folder / "sealed/checks/check.py").write_text(
        "import sys\nnonce = sys.stdin.readline()\nsys.path.insert(0, 'src')\nfrom durations import parse_duration\n"
        "assert parse_duration('1m') == 60\nopen(sys.argv[1], 'w').write(nonce)\n"
    )
    evaluation = {
        "launcher": [sys.executable],
        "launcherProbe": {"argv": ["{launcher}", "-c", "print('ready')"], "pattern": "ready"},
        "mutants": [{"name": "minutes", "overlay": "mutants/minutes-as-seconds"}],
        "checks": [
            {
                "name": "behaviour",
                "kind": "command",
                "category": "acceptance_failure",
                "negativeControl": True,
                "inject": {"checks/check.py": ".hidden/check.py"},
                "argv": ["{launcher}", "-S", ".hidden/check.py", "{results}"],
            }
        ],
    }
    (folder / "sealed/evaluation.yaml").write_text(yaml.safe_dump(evaluation))
    return folder


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    path = tmp_path / "launcher.json"
    path.write_text(json.dumps([sys.executable]))
    return path


def fairtrial(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["fairtrial", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_check_accepts_a_good_task(task: Path, monkeypatch, capsys) -> None:
    assert fairtrial(monkeypatch, "task", "check", task) == 0
    shown = capsys.readouterr().out
    assert "reference" in shown and "wrong: minutes" in shown and "local: not isolated" in shown


def test_check_finds_a_check_that_accepts_a_wrong_solution(task: Path, monkeypatch, capsys) -> None:
    path = task / "sealed/checks/check.py"
    path.write_text(path.read_text().replace("== 60", "> 0"))

    assert fairtrial(monkeypatch, "task", "check", task) == 1
    assert "WRONG" in capsys.readouterr().out


def test_check_calls_a_missing_tool_invalid(task: Path, monkeypatch, capsys) -> None:
    path = task / "sealed/evaluation.yaml"
    path.write_text(path.read_text().replace(sys.executable, "/no/such/tool"))

    assert fairtrial(monkeypatch, "task", "check", task) == 2
    assert "launcher_probe_failed" in capsys.readouterr().out


def test_prepare_writes_the_request_and_the_fixture_alone(task: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    assert fairtrial(monkeypatch, "task", "prepare", task, tmp_path / "dest") == 0
    files = sorted(p.relative_to(tmp_path / "dest").as_posix() for p in (tmp_path / "dest").rglob("*") if p.is_file())
    assert files == ["TASK.md", "project/src/durations.py"]

    assert fairtrial(monkeypatch, "task", "prepare", task, tmp_path / "dest") == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_verify_keeps_all_evidence_and_overwrites_none(task: Path, launcher: Path, tmp_path: Path, monkeypatch) -> None:
    fairtrial(monkeypatch, "task", "prepare", task, tmp_path / "work")
    report = tmp_path / "report.json"

    assert fairtrial(monkeypatch, "task", "verify", task, tmp_path / "work", launcher, report) == 1
    failed = json.loads(report.read_text())
    assert failed["outcome"] == "failed"
    assert fairtrial(monkeypatch, "task", "verify", task, tmp_path / "work", launcher, report) == 2
    assert json.loads(report.read_text()) == failed
    (alone := tmp_path / "alone.json").write_text("somebody's")
    assert fairtrial(monkeypatch, "task", "verify", task, tmp_path / "work", launcher, alone) == 2
    assert alone.read_text() == "somebody's"

    solved = (task / "sealed/reference/src/durations.py").read_text()
    (tmp_path / "work/project/src/durations.py").write_text(solved)
    passing = tmp_path / "second.json"
    assert fairtrial(monkeypatch, "task", "verify", task, tmp_path / "work", launcher, passing) == 0
    found = json.loads(passing.read_text())
    assert found["isolation"] == "local: not isolated"
    assert found["launcher"]["argv"] == [sys.executable]
    assert set(found["missing"]) == {"modelVersion", "tokens", "repairRounds", "agentElapsed"}
    evidence = tmp_path / "second.json.evidence"
    assert sorted(found["evidence"]["files"]) == sorted(
        p.relative_to(evidence).as_posix() for p in evidence.rglob("*") if p.is_file()
    )
    invocation = json.loads((evidence / "results/behaviour/submission/invocation.json").read_text())
    assert (invocation["exitCode"], invocation["stdout"]["bytesSeen"]) == (0, 0)


def test_verify_with_a_tool_that_is_not_the_right_one_is_invalid(task: Path, tmp_path: Path, monkeypatch) -> None:
    fairtrial(monkeypatch, "task", "prepare", task, tmp_path / "work")
    launcher = tmp_path / "false.json"
    launcher.write_text('["/bin/false"]')

    assert fairtrial(monkeypatch, "task", "verify", task, tmp_path / "work", launcher, tmp_path / "r.json") == 2
    assert json.loads((tmp_path / "r.json").read_text())["outcome"] == "invalid"


@pytest.mark.parametrize("text", ["", "{}", "[]", '["python3"]', '["/no/such"]', '["/etc/passwd"]', '["/bin/true", 1]'])
def test_launcher_files_that_are_no_complete_argv_are_refused(
    task: Path, tmp_path: Path, monkeypatch, capsys, text: str
) -> None:
    launcher = tmp_path / "launcher.json"
    launcher.write_text(text)

    assert fairtrial(monkeypatch, "task", "check", task, "--launcher", launcher) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {launcher}: ") and error.count("\n") == 1


def test_a_launcher_is_never_looked_for_not_even_where_one_stands(
    task: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    (tmp_path / "true").symlink_to("/bin/true")
    monkeypatch.chdir(tmp_path)
    launcher = tmp_path / "launcher.json"
    for text in ('["true"]', '["./true"]'):
        launcher.write_text(text)

        assert fairtrial(monkeypatch, "task", "check", task, "--launcher", launcher) == 2
        assert "is not an absolute path; no search path and no shell are used" in capsys.readouterr().err


def test_push_shows_a_manifest_that_the_api_accepts(task: Path, monkeypatch, capsys) -> None:
    arguments = ("task", "push", task, "-n", "team", "--dry-run", "-o", "yaml")

    assert fairtrial(monkeypatch, *arguments) == 2
    assert "names no digest" in capsys.readouterr().err
    assert fairtrial(monkeypatch, *arguments, "--evaluator-image", DIGEST) == 0
    manifest = yaml.safe_load(capsys.readouterr().out)
    assert (manifest["kind"], manifest["metadata"]) == ("BenchmarkTask", {"name": "t-v1", "namespace": "team"})
    assert manifest["spec"]["evaluatorImage"] == DIGEST


def test_new_makes_a_task_and_keeps_what_is_there(tmp_path: Path, monkeypatch, capsys) -> None:
    assert fairtrial(monkeypatch, "task", "new", tmp_path / "fresh", "--kind", "rename") == 0
    assert fairtrial(monkeypatch, "task", "new", tmp_path / "fresh") == 2
    assert fairtrial(monkeypatch, "task", "new", tmp_path / "Not_A_Name") == 2
    assert "error: Not_A_Name/task.yaml: name" in capsys.readouterr().err
