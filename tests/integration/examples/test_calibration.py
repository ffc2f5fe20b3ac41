"""The tasks that were made for the paired cohort tell right from wrong: all of `fairtrial task check`, in seconds.

Tasks that are cut out of released packages need a registry, and are checked where they run.
"""

import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from fairtrial.cli import calibrate
from fairtrial.task.load import load
from fairtrial.task.pack import complete

TASKS = Path(__file__).parents[3] / "examples" / "tasks"
# Those of the paired cohort that need no download, and what no local guess may pass for in each.
WRONG = {
    "billing-symptom": {"later-reminders", "lead-by-month", "ends-stick"},
    "courier-question": {"by-name", "as-preferred", "one-step", "tidied"},
    "giftcard-rule": {"quote-only", "percent-only", "all-or-nothing", "minimum-of-all"},
    "notes-authorization": {"folder-forgotten", "suspended-authors", "one-by-one", "strangers-are-told"},
    "orders-migration": {"cut-off", "half-done", "free-ones-lost", "items-lost"},
    "rates-adapter": {"float", "every-404-is-unknown", "retries-everything", "own-pace", "leaking-errors"},
    "stock-field": {"kept-on-update", "only-in-memory", "hardly-tested"},
}


def test_every_such_task_of_the_paired_cohort_is_here() -> None:
    cohort = yaml.safe_load((TASKS.parent / "cohorts" / "paired.yaml").read_text())
    folders = [TASKS / task["name"].rpartition("-v")[0] for task in cohort["spec"]["tasks"]]
    assert {folder.name for folder in folders if load(folder).file.source is None} == WRONG.keys()


@pytest.mark.parametrize("name", WRONG)
def test_reference_passes_fixture_fails_and_no_wrong_solution_is_taken(name: str) -> None:
    with complete(load(TASKS / name)) as found:
        rows = list(calibrate._rows(found, [sys.executable], Console(quiet=True)))

    assert [(row.what, row.detail) for row in rows if row.state != "ok"] == []
    assert {row.what for row in rows} == {
        "task.yaml and evaluation.yaml",
        "leaks",
        "reference",
        "negative control",
        "untouched fixture",
        *(f"wrong: {wrong}" for wrong in WRONG[name]),
    }
