"""The report on a terminal: from a folder or the store, checked, whole or refused, and nothing in it obeyed."""

import json
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.examples import example_report
from fairtrial_analysis.report import canonical

from fairtrial.cli import report
from fairtrial.cli.analysed import NotAnalysed
from fairtrial.cli.records import NotAsRecorded
from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.memory import MemoryStore


@pytest.fixture(scope="module")
def data() -> bytes:
    return canonical.to_bytes(example_report())


@pytest.fixture
def folder(tmp_path: Path, data: bytes) -> Path:
    place = tmp_path / "package" / "data" / "analysis"
    place.mkdir(parents=True)
    (place / "report.json").write_bytes(data)
    return tmp_path / "package"


def test_verdict_rows_and_denominators_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report.report(str(folder), "default", None)

    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[1] == "SUPPORTED"
    rows = [line.split() for line in lines]
    assert ["*", "seven-of-ten", "pass", "10", "at", "least", "7"] in rows
    assert ["telemetry", "pass", "0.98", "at", "least", "0.95"] in rows, "what decides nothing has no star"
    assert "* success-not-worse" in said and "lower end above -0.2" in said
    assert ["all", "100", "2", "80", "20", "2", "0", "0", "0"] in rows
    assert ["framework", "50", "1", "42", "8", "1", "0", "0", "0"] in rows
    assert "! Signed with development keys" in said
    assert f"Report:  {folder}/data/analysis/report.html" in said
    assert "\x1b" not in said, "plain where there is no terminal"


def test_nothing_that_a_report_says_is_obeyed(folder: Path, data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    raw = json.loads(data)
    raw["executive"]["says"] = ["[bold red]x[/] \x1b[2J\u202e"]
    (folder / "data" / "analysis" / "report.json").write_text(json.dumps(raw))

    report.report(str(folder), "default", None)

    said = capsys.readouterr().out
    assert "[bold red]x[/]" in said
    assert "\x1b" not in said and "\u202e" not in said


@pytest.mark.parametrize(
    ("bad", "tells"),
    [
        (b"{", "is no report"),
        (b"[]", "is no report"),
        (b'{"kind": "Else"}', "not a report"),
        (b'{"kind": "Report"}', "no whole report"),
        (b'{"kind": "Report", "cohort": 1, "executive": 2, "verdictTable": 3}', "no whole report"),
        (b"[" * 100_000, "is no report"),
    ],
)
def test_what_is_no_report_is_refused_by_its_name(folder: Path, bad: bytes, tells: str) -> None:
    (folder / "data" / "analysis" / "report.json").write_bytes(bad)
    with pytest.raises(InvalidInput, match=tells) as caught:
        report.report(str(folder), "default", None)
    assert "report.json" in str(caught.value)


def test_a_folder_that_is_no_package_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="fairtrial fetch"):
        report.report(str(tmp_path), "default", None)


# --- from a cohort ----------------------------------------------------------------------------------------------------
class Cluster:
    """A cohort's status, and a store with its package."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, status: dict[str, Any]) -> None:
        self.status, self.store = status, MemoryStore()
        made = type("Store", (), {"settings": type("S", (), {"bucket": "b"}), "get": self._get})
        monkeypatch.setattr("fairtrial.cli.analysed.Kubectl", lambda *_: self)
        monkeypatch.setattr(report, "S3Store", type("S3", (), {"from_env": staticmethod(made)}))

    def get(self, *_: str) -> dict[str, Any]:
        return {"status": self.status}

    def _get(self, key: str, *, limit: int) -> bytes:
        return self.store.get(key, limit=limit)


def status(data: bytes, bucket: str = "b") -> dict[str, Any]:
    uri = f"s3://{bucket}/ns/n/cohorts/c/u/packages/{'5' * 64}"
    return {"analysis": {"packageUri": uri, "packageSha256": "5" * 64, "reportSha256": sha256(data)}}


KEY = f"ns/n/cohorts/c/u/packages/{'5' * 64}/data/analysis/report.json"


def test_the_report_of_a_cohort_is_the_one_that_its_status_names(
    monkeypatch: pytest.MonkeyPatch, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(monkeypatch, status(data))
    cluster.store.put(KEY, data)

    report.report("c", "n", None)

    said = capsys.readouterr().out
    assert "SUPPORTED" in said
    assert f"Report:  s3://b/{KEY.removesuffix('.json')}.html" in said


def test_another_report_at_its_place_is_not_shown(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    cluster = Cluster(monkeypatch, status(data))
    cluster.store.put(KEY, data.replace(b"SUPPORTED", b"UNTRUSTED"))
    with pytest.raises(NotAsRecorded):
        report.report("c", "n", None)


def test_another_bucket_is_named(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    Cluster(monkeypatch, status(data, "other"))
    with pytest.raises(InvalidInput, match="FAIRTRIAL_S3_BUCKET"):
        report.report("c", "n", None)


def test_a_cohort_without_a_package_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"type": "Analysed", "status": "False", "reason": "AnalysisFailed", "message": "Leaks. Ask again."}
    Cluster(monkeypatch, {"conditions": [failed]})
    with pytest.raises(NotAnalysed, match=r"Analysed is False, AnalysisFailed: Leaks\. Ask again\."):
        report.report("c", "n", None)
