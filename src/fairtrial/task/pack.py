"""From a valid task folder to what a run uses: the complete fixture and sealed part, and the two archives of them."""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairtrial import archive, documents
from fairtrial.errors import InvalidInput
from fairtrial.task import packed, sources
from fairtrial.task.load import EVALUATION_YAML, Task

# What tools leave behind where an author works: never part of a task.
_LEFT_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache"})


@dataclass(frozen=True)
class Complete:
    """A task with everything in place. The folders are only read."""

    task: Task
    project: Path
    sealed: Path

    def sealed_files(self) -> dict[str, bytes]:
        """The sealed part as the evaluator sees it."""
        return {
            path.relative_to(self.sealed).as_posix(): path.read_bytes()
            for path in sorted(self.sealed.rglob("*"))
            if path.is_file() and not is_left_behind(path.relative_to(self.sealed).as_posix())
        }


@dataclass(frozen=True)
class Packed:
    """One archive with its digest."""

    data: bytes
    sha256: str

    @property
    def size(self) -> int:
        """Bytes of the archive."""
        return len(self.data)


@contextlib.contextmanager
def complete(task: Task) -> Iterator[Complete]:
    """The task with its fixture, reference and tests fetched where it has a source; validated across files."""
    with tempfile.TemporaryDirectory() as folder:
        found = _from_source(task, Path(folder)) if task.file.source else _as_written(task)
        _refuse_git(found.project)
        _check_references(found)
        yield found


def public_archive(found: Complete) -> Packed:
    """What every pod of a run may see."""
    return _pack(
        {
            packed.PUBLIC_FILE: documents.dump(found.task.public),
            packed.REQUEST: found.task.folder / packed.REQUEST,
            packed.PROJECT: found.project,
        }
    )


def sealed_archive(found: Complete) -> Packed:
    """What only the evaluator's pods see."""
    contents: dict[str, Path | bytes] = {
        name: data for name, data in found.sealed_files().items() if name != EVALUATION_YAML
    }
    return _pack({**contents, packed.EVALUATION_FILE: documents.dump(found.task.evaluation)})


def is_left_behind(path: str) -> bool:
    """Whether a path is a tool's leftover."""
    parts = path.split("/")
    return bool(_LEFT_FOLDERS.intersection(parts)) or parts[-1] == ".DS_Store" or path.endswith(".pyc")


def _pack(contents: dict[str, Path | bytes]) -> Packed:
    sink = io.BytesIO()
    done = archive.pack(contents, sink, ignore=is_left_behind)
    return Packed(sink.getvalue(), done.sha256)


def _as_written(task: Task) -> Complete:
    return Complete(task, task.folder / packed.PROJECT, task.sealed)


def _from_source(task: Task, folder: Path) -> Complete:
    source = task.file.source
    assert source is not None
    base, solution = sources.archive(source, source.base), sources.archive(source, source.solution)
    project, sealed = folder / packed.PROJECT, folder / "sealed"
    wanted = [("project", base, source.project, project)]
    wanted.append(("reference", solution, source.reference, sealed / task.evaluation.reference))
    if source.tests:
        wanted.append(("tests", solution, source.tests, sealed / "tests"))
    for field, path, selection, target in wanted:
        target.mkdir(parents=True, exist_ok=True)
        if not sources.take(path, selection, target):
            raise InvalidInput(f"task.yaml: source.{field}.include: names no file of the archive.")
    if (task.folder / packed.PROJECT).is_dir():
        _lay_over(task.folder / packed.PROJECT, project)
    _lay_over(task.sealed, sealed)
    return Complete(task, project, sealed)


def _lay_over(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        if path.is_file() and not is_left_behind(relative.as_posix()):
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            (target / relative).write_bytes(path.read_bytes())


def _refuse_git(project: Path) -> None:
    for path in project.rglob(".git"):
        raise InvalidInput(
            f"{path}: a repository's history may hold the solution.", next_move="Leave .git out of the fixture."
        )


def _check_references(found: Complete) -> None:
    """Whatever the evaluation names in the sealed part must be there."""
    evaluation = found.task.evaluation
    measures = found.task.file.family == packed.MEASUREMENT
    named = [] if measures else [("reference", evaluation.reference)]
    named += [(f"mutants.{each.name}", each.overlay) for each in evaluation.mutants]
    for check in evaluation.checks:
        named += [(f"checks.{check.name}.inject", source) for source in check.inject]
        overlays = [*check.mutants, *check.equivalents, *check.sources, *([check.control] if check.control else [])]
        named += [(f"checks.{check.name}.{each.name}", each.overlay) for each in overlays]
        if check.reference:
            named.append((f"checks.{check.name}.reference", check.reference))
    for field, path in named:
        if not (found.sealed / path).exists():
            raise InvalidInput(f"sealed/{EVALUATION_YAML}: {field}: sealed/{path} does not exist.")
