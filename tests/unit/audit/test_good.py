"""A package in which nothing is wrong: no finding, and whatever is changed in its report is one."""

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairtrial.audit import telling
from fairtrial.audit.__main__ import main
from fairtrial.audit.findings import Findings
from fairtrial.audit.ledger import Entry, Ledger, kept
from fairtrial.audit.numbers import compare, expect
from fairtrial.audit.numbers.expect import ANY, problems
from fairtrial.audit.verify import Result, verify
from tests.unit.audit.world import TRUST, base, good, real_ledger, written

REPORT = "data/analysis/report.json"
# Words for people, from which nothing follows, and which repeat what is checked elsewhere.
WORDS = {
    "says", "sentence", "english", "reason", "document", "warnings", "limitations", "deviations", "methods", "unit",
    "conventions", "evidence", "because", "confidence", "message", "about", "degenerate", "unbounded",
}  # fmt: skip


def test_nothing_is_found_in_a_good_package(package: Path):
    result = verify(package, TRUST)

    assert list(result.findings) == []
    assert (result.cohort, result.runs, result.ledger_entries) == ("trials/cohort-1", 21, 45)
    assert result.verdict == json.loads(good()[REPORT])["executive"]["verdict"] == "NOT SUPPORTED"


def test_over_two_tasks_all_is_possible_and_nothing_more(package: Path):
    """Student's interval over two tasks reaches beyond 100 points: report, rule and verifier cut it there."""
    report = json.loads(good()[REPORT])
    seen = [
        report["success"]["overTasks"],
        report["success"]["widest"],
        report["leaderboard"]["pairs"][0]["difference"],
    ]

    assert [(one["interval"]["low"], one["interval"]["high"]) for one in seen] == [(-1, 1)] * 3
    assert verify(package, TRUST).findings.codes == set()


def test_what_was_not_shown_is_said(package: Path):
    remarks = " ".join(verify(package, TRUST).findings.remarks)

    for word in ("study owner", "hidden parts", "checkpoint from elsewhere", "time-stamp authority"):
        assert word in remarks


@pytest.mark.parametrize(
    ("found", "held"),
    [
        ({"objectLock": None, "retentionDays": 0}, False),
        ({"objectLock": {"mode": "", "days": 0}, "retentionDays": 0}, False),
        ({"objectLock": {"mode": "COMPLIANCE", "days": 7}, "retentionDays": 0}, True),
        ({"objectLock": {"mode": "", "days": 0}, "retentionDays": 1}, True),
    ],
)
def test_a_store_that_held_nothing_is_told(found: dict[str, Any], held: bool):
    entry = Entry("capabilities", 2, "", "", {"found": found})
    findings = Findings()

    kept(Ledger(once={"capabilities": entry}), findings)

    assert (findings.remarks == []) is held


def test_the_builder_makes_what_the_real_ledger_makes():
    ledger = real_ledger(base())

    assert sorted(ledger.checkpoints) == [1, 45]
    assert ledger.complete is not None


def test_other_tools_find_nothing_either(package: Path):
    for tool in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        subprocess.run(["sha256sum", "-c", "--quiet", "--strict", tool], cwd=package, check=True)
    subprocess.run(
        [str(Path(sys.executable).with_name("bagit.py")), "--quiet", "--validate", "."], cwd=package, check=True
    )


def test_the_command_needs_nothing_else(package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trust = tmp_path / "trust.json"
    trust.write_bytes(TRUST.to_bytes())

    assert main([str(package), "--trust", str(trust)]) == 0
    assert "No findings." in capsys.readouterr().out
    (package / "data/extra.txt").write_text("x")
    assert main([str(package), "--trust", str(trust), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "FILE_UNLISTED"
    assert main([str(tmp_path / "nowhere"), "--trust", str(trust)]) == 2
    assert main([str(package), "--trust", str(tmp_path / "nowhere")]) == 2


# --- every number of the report ---------------------------------------------------------------------------------------
def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, (*path, at))
    else:
        yield path, value


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.00001 + 1e-6
    if isinstance(value, str):
        return f"{value}1"
    return 1


def with_leaf(report: Any, path: tuple[Any, ...], value: Any) -> None:
    place = report
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value


def unseen(report: Any, expected: Any, path: tuple[Any, ...], value: Any) -> bool:
    """Whether a change of one leaf is not seen where it is made: checks of a place look at nothing else."""
    place = report
    for key in path[:-1]:
        if not isinstance(expected, dict | list) or not isinstance(expected[key], dict | list):
            break
        place, expected, path = place[key], expected[key], path[1:]
    with_leaf(place, path, changed(value))
    found = list(problems(place, expected, ""))
    with_leaf(place, path, value)
    return not found


def test_every_number_of_the_report_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected, report = captured(tmp_path, monkeypatch), json.loads(good()[REPORT])
    numbers = [(path, value) for path, value in leaves(report) if isinstance(value, int | float)]

    missed = [path for path, value in numbers if not WORDS & set(path) and unseen(report, expected, path, value)]

    assert len(numbers) > 3000
    assert missed == []
    assert list(problems(report, expected, "")) == []


def test_every_word_that_stands_for_a_fact_is_held_against_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected, report = captured(tmp_path, monkeypatch), json.loads(good()[REPORT])
    words = [(path, value) for path, value in leaves(report) if isinstance(value, str) and not WORDS & set(path)]

    missed = [path for path, value in words if unseen(report, expected, path, value)]

    assert missed == [("rule", "sha256")]  # of rule.document, and checked with that


def once_for_each(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """The same, remembering what it made of which numbers."""
    known = functools.cache(lambda numbers: function(list(numbers)))
    return lambda numbers: known(tuple(numbers))


def captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The report as it follows from the records of the good package; what summarises a metric does so once."""
    for name in ("five", "mean", "spread", "order_statistics"):
        monkeypatch.setattr(expect, name, once_for_each(getattr(expect, name)))
    kept: list[Any] = []
    real = compare._expected
    monkeypatch.setattr(compare, "_expected", lambda seen: kept.append(real(seen)) or kept[0])
    verify(written(good(), tmp_path / "package"), TRUST)
    return kept[0][0]


def test_what_is_not_known_to_follow_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    report = json.loads(good()[REPORT])
    expected = captured(tmp_path, monkeypatch)
    report["flow"][0]["bonus"] = 3
    report["success"]["pooled"]["method"] = "magic"

    where = {place for place, _ in problems(report, expected, "")}

    assert where == {".flow[0].bonus", ".success.pooled"}
    assert list(problems({"a": 1}, {"a": ANY}, "")) == []


# --- what it says -----------------------------------------------------------------------------------------------------
def test_text_of_somebody_else_is_printed_without_effect(checked: Callable[[dict[str, bytes]], Result]):
    files = good() | {"data/\u202egpj.exe\x1b[2J": b"x"}

    lines = "\n".join(telling.as_text(checked(files)))

    assert "\u202e" not in lines
    assert "\x1b" not in lines
    assert "\\u202egpj.exe\\x1b[2J" in lines


@pytest.mark.parametrize("module", ["fairtrial.audit.verify", "fairtrial.audit.__main__"])
def test_it_needs_the_standard_library_and_one_package(module: str):
    script = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    others = set(done.stdout.split()) - sys.stdlib_module_names - {"fairtrial", "__main__"}
    assert {name for name in others if not name.startswith("_")} <= {"cryptography", "typing_extensions", "cffi"}
