"""What is judged: the submission with its protected paths as the fixture has them, and the list of those touched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.archive import Member, inventory
from fairtrial.task.globs import matcher
from fairtrial_evaluator.trees import delete, place

TOUCHED_MAX = 1000


@dataclass(frozen=True)
class Restoration:
    """What is to be done to a submission before it is judged."""

    restore: list[str]
    remove: list[str]
    touched: list[str] = field(default_factory=list)  # of both, without what a mere test run generates


def plan_restoration(
    submission: Mapping[str, Member], base: Mapping[str, Member], protected: Sequence[str], generated: Sequence[str]
) -> Restoration:
    """Which protected paths differ from the fixture. Pure."""
    is_protected, is_generated = matcher(protected), matcher(generated)
    mine = {path: _facts(member) for path, member in submission.items() if member.kind != "dir" and is_protected(path)}
    theirs = {path: _facts(member) for path, member in base.items() if member.kind != "dir" and is_protected(path)}
    restore = sorted(path for path in theirs if mine.get(path) != theirs[path])
    remove = sorted(mine.keys() - theirs.keys())
    touched = [path for path in sorted({*restore, *remove}) if not is_generated(path)]
    return Restoration(restore, remove, touched[:TOUCHED_MAX])


def restore_protected(project: Path, base: Path, protected: Sequence[str], generated: Sequence[str]) -> list[str]:
    """Bring a submission's protected paths back to the fixture's; the paths that had been touched."""
    if project.is_symlink() or not project.is_dir():
        delete(project)
        project.mkdir()
    found = inventory(base)
    todo = plan_restoration(inventory(project), found, protected, generated)
    for path in todo.remove:
        delete(project / path)
    for path in todo.restore:
        member = found[path]
        if member.kind == "link":
            place(project, path, b"")
            (project / path).unlink()
            (project / path).symlink_to(member.target)
        else:
            place(project, path, (base / path).read_bytes(), executable=member.executable)
    return todo.touched


def _facts(member: Member) -> tuple[str, bool, str, str]:
    return (member.kind, member.executable, member.target, member.sha256)
