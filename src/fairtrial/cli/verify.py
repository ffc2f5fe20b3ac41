"""`fairtrial task verify`: judge a submission on this machine, and keep everything that the judgement rests on."""

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fairtrial import documents
from fairtrial.archive import Member, inventory, printable, snapshot, tree_digest
from fairtrial.cli import launcher as launchers
from fairtrial.cli import output
from fairtrial.cli.launcher import Launcher
from fairtrial.documents import EvaluationReport
from fairtrial.errors import InvalidInput
from fairtrial.task.load import Task, load
from fairtrial.task.pack import complete, public_archive, sealed_archive
from fairtrial.task.packed import PROJECT

ISOLATION = "local: not isolated"
OUTCOMES = {"passed": ("passed", 0), "failed": ("failed", 1), "error": ("invalid", 2)}
MEASURES = {
    "durationMs": "wall-clock time of one process that the evaluation started; not the time that an agent worked",
    "bytesSeen": "bytes of one process's output; not tokens of a model",
}
MISSING = ("modelVersion", "tokens", "repairRounds", "agentElapsed")
_SNAPSHOT_MAX = 2 * 1024**3


@dataclass(frozen=True)
class Captured:
    """What was judged: every file of the submission by digest, and its archive."""

    files: Mapping[str, Member]
    archive_sha256: str
    skipped: list[str]


def run(folder: Path, submission: Path, launcher_file: Path, report: Path) -> int:
    """Judge; write evidence and report, neither of which may exist before; 0 passed, 1 failed, 2 invalid."""
    from fairtrial_evaluator.local import FolderEvidence, LocalTask, evaluate_locally

    console = output.console()
    task, launcher = load(folder), launchers.read(launcher_file)
    evidence = report.with_name(f"{report.name}.evidence")
    project = _project(submission)
    _reserve(report, evidence)
    began = datetime.now(UTC)
    captured = _capture(project, evidence / "submission.tar")
    with complete(task) as found:
        local = LocalTask(found.task.public, found.task.evaluation, found.sealed_files(), found.project)
        digests = {"publicSha256": public_archive(found).sha256, "sealedSha256": sealed_archive(found).sha256}
        with console.status("checks …") as status:
            result = evaluate_locally(
                local,
                project,
                launcher=launcher.argv,
                evidence=FolderEvidence(evidence),
                wall_seconds=task.evaluate_seconds,
                progress=lambda name: status.update(f"{name} …"),
            )
    document = _document(task, digests, launcher, captured, result, began)
    document["evidence"] = {"folder": evidence.name, "files": _evidence_files(evidence)}
    _write(report, document)
    _show(console, result, report)
    return OUTCOMES[result.verdict][1]


def _project(submission: Path) -> Path:
    project = submission / PROJECT
    if not project.is_dir():
        raise InvalidInput(
            f"{submission}: has no folder {PROJECT}/.", next_move="Name a folder that `fairtrial task prepare` made."
        )
    return project


def _reserve(report: Path, evidence: Path) -> None:
    for path in (report, evidence):
        if path.is_symlink() or path.exists():
            raise InvalidInput(f"{path}: exists already; nothing was overwritten.", next_move="Name a new report.")
    try:
        report.parent.mkdir(parents=True, exist_ok=True)
        evidence.mkdir()
    except OSError as error:
        raise InvalidInput(f"{evidence}: cannot be made: {error.strerror}.") from error


def _capture(project: Path, archive: Path) -> Captured:
    with archive.open("xb") as file:
        taken = snapshot(project, file, max_bytes=_SNAPSHOT_MAX)
    return Captured(inventory(project), taken.sha256, taken.skipped)


def _document(
    task: Task,
    digests: Mapping[str, str],
    launcher: Launcher,
    captured: Captured,
    result: EvaluationReport,
    began: datetime,
) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "outcome": OUTCOMES[result.verdict][0],
        "reason": result.reason,
        "isolation": ISOLATION,
        "task": {"name": task.file.name, "version": task.file.version, **digests},
        "launcher": {"argv": launcher.argv, "sha256": launcher.sha256, "size": launcher.size},
        "submission": {
            "treeSha256": tree_digest(captured.files.values()),
            "archiveSha256": captured.archive_sha256,
            "files": {printable(path): m.sha256 for path, m in captured.files.items() if m.kind == "file"},
            "skipped": [printable(text) for text in captured.skipped],
        },
        "startedWith": {
            "argv": list(sys.argv),
            "python": platform.python_version(),
            "startedAt": began.isoformat(timespec="milliseconds"),
            "verifyMs": int((time.time() - began.timestamp()) * 1000),
        },
        "evaluation": documents.to_json(result),
        "measures": MEASURES,
        "missing": dict.fromkeys(MISSING, "not observed by a local verification"),
    }


def _evidence_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Every file of the evidence by digest: the invocations' arguments and ends, and their raw output."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found[path.relative_to(folder).as_posix()] = {"sha256": digest, "size": file.tell()}
    return found


def _write(report: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with os.fdopen(os.open(report, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(text.encode("utf-8", "replace") + b"\n")


def _show(console: Console, result: EvaluationReport, report: Path) -> None:
    from rich.markup import escape

    table = Table(box=None, pad_edge=False)
    for column in ("CHECK", "STATE", "CATEGORY", "REASON"):
        table.add_column(column, overflow="fold")
    for check in result.checks:
        names = ", ".join([*check.tests_failed[:3], *check.tests_missing[:3]])
        reason = f"{check.reason} ({names})" if names else check.reason
        category = check.category if check.state == "failed" else ""
        table.add_row(check.name, check.state, category, escape(printable(reason)))
    console.print(table)
    outcome = OUTCOMES[result.verdict][0]
    console.print(f"{outcome}{f': {printable(result.reason)}' if result.reason else ''}", soft_wrap=True, markup=False)
    console.print(f"report {report}\n{ISOLATION}", soft_wrap=True, markup=False, highlight=False)
