"""The same evidence gives the same bytes: in another process, folder, locale and time zone, in another order."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from fairtrial_analysis.examples import Came, example, example_report, usual
from fairtrial_analysis.html.page import render
from fairtrial_analysis.load.inputs import Book
from fairtrial_analysis.load.loaded import Loaded
from fairtrial_analysis.load.results import load, loaded
from fairtrial_analysis.report.canonical import to_bytes
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.tables import IDENTITY, header, runs_csv, runs_parquet

PROGRAM = """
import hashlib, json, locale, sys
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
from fairtrial_analysis.examples import example_report
from fairtrial_analysis.html.page import render
from fairtrial_analysis.report.canonical import to_bytes
from fairtrial_analysis.report.tables import runs_csv, runs_parquet
report = example_report(tasks=3)
made = {"json": to_bytes(report), "csv": runs_csv(report), "parquet": runs_parquet(report), "html": render(report)}
digests = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
print(json.dumps([locale.localeconv()["decimal_point"], digests]))
"""


def run(folder: Path, **environment: str) -> tuple[str, dict[str, str]]:
    """The decimal point of the process's locale, and digests of what it made."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | environment, cwd=folder, capture_output=True, check=True
    )
    point, made = json.loads(done.stdout)
    return point, made


def with_a_comma(folder: Path) -> dict[str, str]:
    """A locale that writes 0,5 for 0.5, where the machine has what one is made of."""
    if shutil.which("localedef") and Path("/usr/share/i18n/locales/de_DE").exists():
        made = folder / "de_DE.UTF-8"
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(made)], check=True, capture_output=True)
        return {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"}
    return {"LC_ALL": "C.UTF-8"}


def test_a_process_that_shares_nothing_with_this_one_makes_the_same_bytes(tmp_path: Path):
    german = with_a_comma(tmp_path)

    point, there = run(tmp_path / "b", PYTHONHASHSEED="4711", TZ="Asia/Kathmandu", OMP_NUM_THREADS="1", **german)

    made = example_report(tasks=3)
    here = {"json": to_bytes(made), "csv": runs_csv(made), "parquet": runs_parquet(made), "html": render(made)}
    assert there == {name: hashlib.sha256(data).hexdigest() for name, data in here.items()}
    assert (point == ",") == ("LOCPATH" in german)


def shuffled(given: Loaded) -> Loaded:
    rows = list(given.rows)
    random.Random(7).shuffle(rows)
    book = Book(given.ledger, given.as_of)
    return loaded(given.plan, book, rows, reversed(given.wrong), given.corrections, given.uncorrected, given.inputs)


def test_the_order_in_which_records_arrive_does_not_matter():
    given = load(example(tasks=2).source())

    assert to_bytes(compute(shuffled(given), Made("1"))) == to_bytes(compute(given, Made("1")))


def test_one_changed_record_changes_the_report():
    def other(task: int, arm: str, repetition: int, attempt: int) -> Came:
        came = usual(task, arm, repetition, attempt)
        changed = (task, arm, repetition) == (1, "plain", 1)
        return Came(came.outcome, (came.tokens or 0) + 1) if changed else came

    reports = [to_bytes(compute(load(example(story, tasks=2).source()), Made("1"))) for story in (usual, other)]
    assert reports[0] != reports[1]


# --- tables -----------------------------------------------------------------------------------------------------------
def test_csv_has_a_row_for_every_run_and_says_why_a_cell_is_empty():
    import csv
    import io

    report = compute(load(example(tasks=5).source()), Made("1"))
    data = runs_csv(report)
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))

    assert data.endswith(b"\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert list(rows[0]) == header()
    assert [row["run"] for row in rows] == [run.run for run in report.runs]
    lost = next(
        row for row in rows if row["accounted_tokens_state"].startswith("missing") and row["outcome"] != "invalid"
    )
    assert lost["accounted_tokens"] == ""
    assert "not_reported" in lost["accounted_tokens_state"]
    paid = next(row for row in rows if row["cost_state"] == "measured")
    assert "/" not in paid["cost"]


def test_parquet_holds_what_csv_holds():
    import io

    import pyarrow.parquet as pq

    report = compute(load(example(tasks=2).source()), Made("1"))
    table = pq.read_table(io.BytesIO(runs_parquet(report)))

    assert table.column_names == header()
    assert table.num_rows == len(report.runs)
    assert table.column("run").to_pylist() == [run.run for run in report.runs]
    tokens = table.column("accounted_tokens").to_pylist()
    assert tokens == [run.values.get("accounted_tokens") for run in report.runs]
    assert str(table.schema.field("accounted_tokens").type) == "int64"
    assert not any(b"pandas" in key for key in (table.schema.metadata or {}))
    assert IDENTITY[0].name == "run"
