"""A fetched package computed anew: the same bytes, or what differs."""

import json
from pathlib import Path

import pytest
from fairtrial_analysis.__main__ import main
from fairtrial_analysis.analyse import Settings, packaged
from fairtrial_analysis.package.publish import publish

from tests import stored_cohort
from tests.stored_cohort import BUCKET


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package, fetched as its fetch.txt and its own keys say."""
    made = stored_cohort.make(tasks=1)
    example, folder = made.example, tmp_path_factory.mktemp("fetched")
    _, package = packaged(
        made.store, (example.layout, BUCKET), example.address, Settings(example.size, "image@x", "none")
    )
    publish(package, made.store, None)
    for line in package.fetch():
        uri, _, path = line.decode().split()
        place(folder / path, made.store.get(uri.removeprefix(f"s3://{BUCKET}/")))
    for path, data in package.own.items():
        place(folder / "data" / path, data)
    return folder


def place(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_the_same_evidence_gives_the_same_bytes(fetched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["again", str(fetched)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "every byte is the same"
    assert [line.split() for line in said[:-1]] == [
        ["same", f"analysis/{name}"]
        for name in ("request.json", "report.json", "runs.csv", "runs.parquet", "report.html")
    ]


@pytest.mark.parametrize("name", ["report.json", "runs.csv", "runs.parquet", "report.html"])
def test_what_differs_is_named(fetched: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = fetched / "data" / "analysis" / name
    before = file.read_bytes()
    if name == "report.json":
        report = json.loads(before)
        report["executive"]["verdict"] = "SURE"
        file.write_text(json.dumps(report))
    else:
        file.write_bytes(before[:100] + bytes([before[100] ^ 1]) + before[101:])
    try:
        assert main(["again", str(fetched)]) == 1
    finally:
        file.write_bytes(before)

    said = capsys.readouterr().out
    assert f"differs  analysis/{name}" in said
    assert said.count("differs  ") == 1
    assert ('executive.verdict: "SURE" in the package' if name == "report.json" else "from byte 100 on") in said


def test_a_folder_that_is_no_package_is_refused_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["again", str(tmp_path)]) == 2
    assert "fairtrial fetch" in caplog.text
