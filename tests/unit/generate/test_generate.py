"""Generated files are those that the models make, and the check says what to do where they are not."""

from pathlib import Path

import pytest

from fairtrial.generate import drift, main

ROOT = Path(__file__).resolve().parents[3]


def test_the_repository_holds_what_the_models_make():
    assert drift(ROOT) == []


def test_drift_is_reported_with_the_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--root", str(tmp_path)]) == 0
    (tmp_path / "crds" / "benchmarkruns.yaml").write_text("kind: Other\n")
    (tmp_path / "crds" / "old.yaml").write_text("")
    (tmp_path / "schemas" / "record.json").unlink()

    assert main(["--root", str(tmp_path), "--check"]) == 1

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "crds/benchmarkruns.yaml differs from the models",
        "crds/old.yaml belongs to no model",
        "schemas/record.json is missing",
    ]
    assert all("make generate" in line for line in lines)
