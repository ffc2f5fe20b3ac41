"""`fairtrial task prepare`: what an agent gets, as a folder."""

from pathlib import Path

from fairtrial.errors import InvalidInput
from fairtrial.task.load import load
from fairtrial.task.pack import complete
from fairtrial.task.packed import PROJECT, REQUEST


def run(folder: Path, dest: Path) -> None:
    """Write TASK.md and project/ into a folder that does not exist yet."""
    from fairtrial_evaluator.local import copy_tree

    with complete(load(folder)) as found:
        if dest.is_symlink() or dest.exists():
            raise InvalidInput(f"{dest}: exists already; nothing was written.", next_move="Name a new folder.")
        copy_tree(found.project, dest / PROJECT)
        (dest / REQUEST).write_bytes((folder / REQUEST).read_bytes())
