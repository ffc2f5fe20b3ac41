"""`fairtrial plan --power`: the cohort's own rule, simulated before anything runs."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fairtrial.cli.app import app
from fairtrial.testing import confirmatory, make_cohort

runner = CliRunner()
FEW = ("--power", "--replicates", "20")


def written(folder: Path, **changes: Any) -> Path:
    made = make_cohort("paired", **{**confirmatory(), **changes}).as_json()
    made["metadata"] = {"name": "paired"}
    del made["status"]
    file = folder / "cohort.yaml"
    file.write_text(yaml.safe_dump(made))
    return file


def test_the_rule_is_said_in_english_and_each_truth_has_its_verdicts(tmp_path: Path):
    done = runner.invoke(app, ["plan", str(written(tmp_path)), *FEW])

    assert done.exit_code == 0, done.output
    assert "Decision rule" in done.stdout
    assert "Otherwise the verdict is SUPPORTED." in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("no effect  ")]
    assert len(lines) == 1
    shares = [float(word) for word in lines[0].replace("%", "").split()[3:6]]
    assert sum(shares) == pytest.approx(100)
    assert "The smallest two-sided p that flipping whole tasks can give is" in done.stdout


def test_how_far_a_rate_may_be_off_is_told_where_all_cohorts_end_alike_too(tmp_path: Path):
    def told(truth: dict[str, Any]) -> str:
        truths = tmp_path / "truths.yaml"
        truths.write_text(yaml.safe_dump([truth]))
        done = runner.invoke(app, ["plan", str(written(tmp_path)), *FEW, "--truths", str(truths)])
        assert done.exit_code == 0, done.output
        return next(line for line in done.stdout.splitlines() if line.startswith("Each rate"))

    alike = told({"name": "only the control", "controlRate": 1.0, "treatmentRate": 0.0})
    assert alike == "Each rate is of 20 simulated cohorts; it is off by 0.150 at most (95 %)."
    mixed = told({"name": "some difference", "controlRate": 0.5, "ratio": 0.7})
    assert "its standard error is at most 0.0" in mixed or "its standard error is at most 0.1" in mixed


def test_what_the_simulation_says_nothing_of_is_told(tmp_path: Path):
    rule = confirmatory()["decisionRule"]
    rule["conditions"][0] |= {"metric": "recovery_rate", "statistic": "treatmentValue", "comparison": "atLeast"}
    rule["conditions"][0] |= {"threshold": "0.5", "bound": "point"}
    constitution = confirmatory()["constitution"] | {"primaryMetrics": ["recovery_rate", "success_rate"]}

    done = runner.invoke(app, ["plan", str(written(tmp_path, decisionRule=rule, constitution=constitution)), *FEW])

    assert done.exit_code == 0, done.output
    assert f"{rule['conditions'][0]['name']} is undecided in every simulated cohort" in done.stdout


def test_the_same_file_gives_the_same_bytes_and_people_see_their_digest(tmp_path: Path):
    file = written(tmp_path)

    first, second = (runner.invoke(app, ["plan", str(file), *FEW, "--json"]) for _ in range(2))
    shown = runner.invoke(app, ["plan", str(file), *FEW])

    assert first.stdout_bytes == second.stdout_bytes
    assert hashlib.sha256(first.stdout_bytes).hexdigest() in shown.stdout
    assert {one["repetitions"] for one in json.loads(first.stdout)["characteristics"]} == {5}


def test_further_repetitions_and_truths_of_ones_own_are_simulated(tmp_path: Path):
    truths = tmp_path / "truths.yaml"
    truths.write_text("- {name: from-the-pilot, controlRate: 0.4, treatmentRate: 1, ratio: 1}\n")
    options = (*FEW, "--json", "--repetitions", "8", "--truths", str(truths))

    done = runner.invoke(app, ["plan", str(written(tmp_path)), *options])

    found = json.loads(done.stdout)["characteristics"]
    assert [(one["truth"]["name"], one["repetitions"]) for one in found] == [
        ("from-the-pilot", 5),
        ("from-the-pilot", 8),
    ]
    assert found[0]["truth"]["controlRate"] == 0.4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- {name: x, controlRte: 0.5}", "unknown field 'controlRte'"),
        ("- {name: x, controlRate: 2}", "rates lie between 0 and 1"),
        ("{name: x}", "must be a list"),
        ("- {name: x}\n- {name: x}", "two truths have one name"),
        ("- {name: x, ratio: many}", "ratio is not float"),
    ],
)
def test_truths_that_make_no_sense_are_refused(tmp_path: Path, text: str, why: str):
    file = tmp_path / "truths.yaml"
    file.write_text(text)

    done = runner.invoke(app, ["plan", str(written(tmp_path)), *FEW, "--truths", str(file)])

    assert done.exit_code != 0
    assert why in str(done.exception)


def test_fewer_repetitions_than_the_rule_needs_are_refused(tmp_path: Path):
    done = runner.invoke(app, ["plan", str(written(tmp_path)), *FEW, "--repetitions", "3"])

    assert "asks for 5 valid runs" in str(done.exception)


def test_a_rule_that_can_never_hold_is_not_simulated(tmp_path: Path):
    rule = confirmatory()["decisionRule"]
    rule["conditions"][0] |= {"metric": "success_rate", "statistic": "difference", "comparison": "above"}
    rule["conditions"][0] |= {"threshold": "1", "bound": "point"}

    done = runner.invoke(app, ["plan", str(written(tmp_path, decisionRule=rule)), *FEW])

    assert done.exit_code == 1
    assert "error: spec.decisionRule.conditions[0].threshold: can never hold" in done.stderr
    assert "SUPPORTED  " not in done.stdout
