"""New task folders: small complete tasks of each kind, to be edited into something of one's own."""

import secrets
from pathlib import Path
from typing import Literal

from fairtrial.errors import InvalidInput
from fairtrial.task.load import SEALED, TASK_FILE, validated
from fairtrial.task.model import TaskFile
from fairtrial.task.packed import CANARY_FILE

Kind = Literal["feature", "typeFix", "rename", "apiChange", "testAddition"]
_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".txt"  # so that no tool takes a template for code of this package


def create(folder: Path, kind: Kind) -> list[str]:
    """Write a task of this kind into a folder that does not exist yet; the paths of its files."""
    _check_name(folder.name)
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise InvalidInput(f"{folder}: exists already.", next_move="Choose another name.") from error
    written = []
    for path in sorted((_TEMPLATES / kind).rglob(f"*{_SUFFIX}")):
        relative = path.relative_to(_TEMPLATES / kind).as_posix().removesuffix(_SUFFIX)
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text("utf-8").replace("@NAME@", folder.name), "utf-8")
        written.append(relative)
    (folder / SEALED / CANARY_FILE).write_text(f"fairtrial-canary-{secrets.token_hex(16)}\n")
    return [*written, f"{SEALED}/{CANARY_FILE}"]


def _check_name(name: str) -> None:
    example = {"name": name, "version": 1, "title": "x", "family": "other", "language": "x", "wallSeconds": 1}
    validated(TaskFile, {**example, "evaluatorImage": "x"}, f"{name}/{TASK_FILE}")
