"""`fairtrial plan`: byte for byte the schedule that is sealed, and errors that name the field."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fairtrial.cli.app import app
from fairtrial.cli.plan import read_cohort
from fairtrial.cohort.preregistration import document, to_bytes
from fairtrial.cohort.schedule import schedule_of
from fairtrial.errors import InvalidInput
from fairtrial.testing import confirmatory, make_cohort
from tests.unit.cohort.test_preregistration import found

runner = CliRunner()


def written(folder: Path, **changes: Any) -> Path:
    made = make_cohort("paired", **changes).as_json()
    made["metadata"] = {"name": "paired"}
    del made["status"]
    file = folder / "cohort.yaml"
    file.write_text(yaml.safe_dump(made))
    return file


def test_the_bytes_are_those_that_are_sealed(tmp_path: Path):
    file = written(tmp_path, **confirmatory())

    done = runner.invoke(app, ["plan", str(file), "--json"])

    assert done.exit_code == 0, done.output
    cohort = make_cohort("paired", **confirmatory())
    sealed = json.loads(to_bytes(document(cohort, found(cohort))))
    assert hashlib.sha256(done.stdout_bytes).hexdigest() == sealed["scheduleSha256"]
    assert json.loads(done.stdout_bytes) == sealed["schedule"]
    assert done.stdout_bytes == schedule_of(cohort).to_bytes()


def test_people_see_every_run_in_its_order_and_the_digest(tmp_path: Path):
    done = runner.invoke(app, ["plan", str(written(tmp_path))])

    lines = done.output.splitlines()
    assert lines[0] == "paired: pilot, mechanism; 2 tasks x 2 candidates x 5 repetitions = 20 runs"
    assert "at most 2 in a cell, for host_failure, provider_outage" in lines[1]
    shown = [line.split() for line in lines if " paired-0" in line]
    schedule = schedule_of(make_cohort("paired"))
    assert shown == [
        [str(one.index), one.run, one.block, one.task, one.candidate, str(one.repetition)] for one in schedule.entries
    ]
    assert lines[-1] == f"SHA-256: {schedule.sha256}"


def test_help_fills_its_lines_whatever_the_source_breaks():
    shown = runner.invoke(app, ["plan", "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).output

    lines = [line.strip() for line in shown.splitlines()]
    assert "the preregistration will hold. Exit code 1: the cohort can't be sealed, and" in lines


def test_standard_input_will_do(tmp_path: Path):
    text = written(tmp_path).read_text()
    assert runner.invoke(app, ["plan", "-", "--json"], input=text).exit_code == 0


def test_each_problem_is_a_line_with_its_field_and_no_schedule_is_printed(tmp_path: Path):
    file = written(tmp_path, treatment={"parts": ["env"]}, replacement={"maxPerCell": 0})
    done = runner.invoke(app, ["plan", str(file)])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [
        "spec.treatment.parts[0]",
        "spec.treatment.parts",
        "spec.replacement.maxPerCell",
    ]


def test_what_does_not_fit_the_models_is_a_line_for_each_field_too(tmp_path: Path):
    file = written(tmp_path, **confirmatory())
    raw = yaml.safe_load(file.read_text())
    raw["spec"]["constitution"] |= {"question": "", "artifacts": []}
    raw["spec"] |= {"repetitions": 1}
    file.write_text(yaml.safe_dump(raw))

    done = runner.invoke(app, ["plan", str(file)])

    assert (done.exit_code, done.stdout) == (1, "")
    assert [line.removeprefix(f"{file}: ").split(": ")[0] for line in done.stderr.splitlines()] == [
        "spec.constitution.question",
        "spec.constitution.artifacts",
        "spec.repetitions",
    ]


@pytest.mark.parametrize("option", [["--repetitions", "10"], ["--truths", "truths.yaml"]])
def test_what_only_a_simulation_uses_is_not_passed_over_in_silence(tmp_path: Path, option: list[str]):
    done = runner.invoke(app, ["plan", str(written(tmp_path)), *option])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "need --power" in done.stderr


BAD: dict[str, tuple[Any, str]] = {
    "no integer": ({"schedule": {"seed": "seven"}}, "spec.schedule.seed"),
    "misspelt": ({"repetition": 3}, "spec.repetition: there is no such field"),
    "unknown metric": ({"constitution": {"primaryMetrics": ["joy"]}}, "spec.constitution.primaryMetrics[0]"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_can_not_be_read_is_refused_with_its_field(tmp_path: Path, name: str):
    change, words = BAD[name]
    file = written(tmp_path)
    raw = yaml.safe_load(file.read_text())
    raw["spec"] |= change
    file.write_text(yaml.safe_dump(raw))
    with pytest.raises(InvalidInput) as caught:
        read_cohort(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "a: [", "kind: BenchmarkRun", "kind: BenchmarkCohort\n---\nkind: BenchmarkCohort"]
)
def test_a_file_holds_one_cohort(tmp_path: Path, text: str):
    file = tmp_path / "cohort.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=str(file)):
        read_cohort(file)


def test_a_cohort_has_a_name(tmp_path: Path):
    file = written(tmp_path)
    raw = yaml.safe_load(file.read_text())
    del raw["metadata"]
    file.write_text(yaml.safe_dump(raw))
    with pytest.raises(InvalidInput, match=r"metadata\.name: is missing"):
        read_cohort(file)
