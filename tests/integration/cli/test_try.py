"""`fairtrial try`: a whole run as local processes, labelled as what it is."""

import json
from pathlib import Path

import pytest
import yaml

from examples import render
from examples.demo.install import ROOT
from examples.demo.tries import NO_DIGEST
from fairtrial.cli import try_run
from fairtrial.errors import InvalidInput

TASK = ROOT / "examples" / "tasks" / "types-fix"


def run_file(folder: Path, name: str) -> Path:
    images = {image: f"localhost/fairtrial/{image}@{NO_DIGEST}" for image in ("python", "node", "busybox")}
    (wanted,) = render.render_file(ROOT / "examples" / "runs" / f"{name}.yaml", images)
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump(wanted))
    return file


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """python3 with mypy, as `uv run` has it first on the PATH."""
    import os
    import sys

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def test_the_reference_passes_and_everything_says_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"

    code = try_run.run(run_file(tmp_path, "reference-types-fix"), TASK, kept)

    shown = capsys.readouterr()
    assert code == 0
    assert (shown.out + shown.err).count("local: not isolated, not evidence") == 2
    summary = json.loads((kept / "summary.json").read_text())
    assert (summary["what"], summary["outcome"]) == ("local: not isolated, not evidence", "passed")
    assert summary["agent"]["isolation"] == "not_applicable"
    assert (kept / "agent" / "snapshot.tar").is_file()
    assert not (kept / "record.json").exists()


def test_a_candidate_that_does_nothing_fails(tmp_path: Path) -> None:
    file = run_file(tmp_path, "reference-types-fix")
    run = yaml.safe_load(file.read_text())
    run["spec"]["candidate"]["argv"] = ["/bin/true"]
    file.write_text(yaml.safe_dump(run))

    assert try_run.run(file, TASK, None) == 1


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="exists already"):
        try_run.run(run_file(tmp_path, "reference-types-fix"), TASK, tmp_path)


def test_a_missing_task_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--task FOLDER"):
        try_run.run(run_file(tmp_path, "reference-types-fix"), None, None)
