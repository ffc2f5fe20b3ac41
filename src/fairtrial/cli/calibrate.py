"""`fairtrial task check`: is the task in order, and do its checks tell right from wrong?"""

import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from fairtrial.archive import content, index
from fairtrial.cli import launcher as launchers
from fairtrial.cli import output
from fairtrial.documents import EvaluationReport
from fairtrial.task.leaks import find_leaks
from fairtrial.task.load import load
from fairtrial.task.pack import Complete, Packed, complete, public_archive, sealed_archive
from fairtrial.task.packed import CANARY_FILE, MEASUREMENT

State = Literal["ok", "wrong", "unknown"]
_EXIT = {"ok": 0, "wrong": 1, "unknown": 2}
_CONTENT_MAX = 8 * 1024 * 1024


@dataclass(frozen=True)
class Row:
    """One line of the result."""

    what: str
    wanted: str
    found: str
    state: State
    detail: str = ""


def run(folder: Path, launcher_file: Path | None) -> int:
    """Check a task folder, print a table, and say by the exit code whether it is fit for use."""
    console = output.console()
    task = load(folder)
    launcher = launchers.read(launcher_file).argv if launcher_file else task.evaluation.launcher
    with complete(task) as found:
        rows = list(_rows(found, launcher, console))
        public, sealed = public_archive(found), sealed_archive(found)
    console.print(_table(rows))
    console.print(
        f"public {public.sha256} ({public.size} bytes)\nsealed {sealed.sha256} ({sealed.size} bytes)", soft_wrap=True
    )
    console.print("local: not isolated", style="yellow")
    return max(_EXIT[row.state] for row in rows)


def calibration_row(what: str, wanted: Literal["passed", "failed"], report: EvaluationReport) -> Row:
    """Compare a verdict with what calibration wants. Pure."""
    found = "invalid" if report.verdict == "error" else report.verdict
    failing = [f"{check.name}: {check.reason}" for check in report.checks if check.state != "passed"]
    detail = report.reason if report.verdict == "error" else "; ".join(failing)
    if report.verdict == "error":
        is_control = report.negative_control == "failed"
        return Row(what, wanted, found, "wrong" if is_control else "unknown", detail)
    return Row(what, wanted, found, "ok" if report.verdict == wanted else "wrong", detail)


def _rows(found: Complete, launcher: Sequence[str], console: Console) -> Iterator[Row]:
    yield Row("task.yaml and evaluation.yaml", "valid", "valid", "ok", f"{len(found.task.evaluation.checks)} checks")
    released = found.task.file.source is not None
    public = _files(public_archive(found))
    leaks = find_leaks(public, found.sealed_files(), found.task.evaluation, released=released)
    yield Row("leaks", "none", str(len(leaks)) if leaks else "none", "wrong" if leaks else "ok", "; ".join(leaks[:5]))
    evaluation = found.task.evaluation
    # Where there is nothing to solve, only to measure, the fixture is what is right.
    measures = found.task.file.family == MEASUREMENT
    solved = [] if measures else [("reference", "passed", [evaluation.reference])]
    base = [] if measures else [evaluation.reference]
    with tempfile.TemporaryDirectory() as folder:
        for what, wanted, overlays in (
            *solved,
            ("untouched fixture", "passed" if measures else "failed", []),
            *((f"wrong: {each.name}", "failed", [*base, each.overlay]) for each in evaluation.mutants),
        ):
            submission = Path(folder, what.replace(" ", "-").replace(":", ""))
            _submission(found, overlays, submission)
            with console.status(f"{what} …"):
                report = _evaluate(found, submission, launcher, controls=what == "reference")
            yield calibration_row(what, "passed" if wanted == "passed" else "failed", report)
            if what == "reference" and report.negative_control != "not_reached":
                control = report.negative_control
                fine = control in {"passed", "not_applicable"}
                yield Row("negative control", "fails on the fixture", control, "ok" if fine else "wrong")


def _submission(found: Complete, overlays: Sequence[str], target: Path) -> None:
    from fairtrial_evaluator.local import copy_tree
    from fairtrial_evaluator.plan import below
    from fairtrial_evaluator.trees import delete, place

    copy_tree(found.project, target)
    sealed = found.sealed_files()
    if overlays:
        for path in found.task.evaluation.reference_removes:
            delete(target / path)
    for overlay in overlays:
        for path, data in below(sealed, overlay).items():
            place(target, path, data)


def _evaluate(found: Complete, submission: Path, launcher: Sequence[str], *, controls: bool) -> EvaluationReport:
    from fairtrial_evaluator.local import LocalTask, evaluate_locally

    evaluation = found.task.evaluation
    if not controls:
        checks = [dataclasses.replace(check, negative_control=False) for check in evaluation.checks]
        evaluation = dataclasses.replace(evaluation, checks=checks)
    task = LocalTask(found.task.public, evaluation, found.sealed_files(), found.project)
    return evaluate_locally(task, submission, launcher=launcher, wall_seconds=found.task.evaluate_seconds)


def _files(archive: Packed) -> dict[str, bytes]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(archive.data)
        file.flush()
        members = index(Path(file.name))
        return {
            path: content(file, member, at_most=_CONTENT_MAX)  # type: ignore[arg-type]
            for path, member in members.items()
            if member.kind == "file" and path != CANARY_FILE
        }


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("", "WHAT", "WANTED", "FOUND", "DETAIL"):
        table.add_column(column, overflow="fold")
    marks = {"ok": ("ok", "green"), "wrong": ("WRONG", "red"), "unknown": ("INVALID", "yellow")}
    for row in rows:
        mark, style = marks[row.state]
        table.add_row(f"[{style}]{mark}[/{style}]", row.what, row.wanted, row.found, _escaped(row.detail))
    return table


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else "\ufffd" for c in text))
