"""Launcher files: the complete argv of the tool under which submissions run. No shell, no search path."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from fairtrial.errors import InvalidInput

_MAX = 64 * 1024


@dataclass(frozen=True)
class Launcher:
    """An argv whose program exists, with what is known of the program."""

    argv: list[str]
    sha256: str
    size: int


def read(path: Path) -> Launcher:
    """Read and check a launcher file."""
    try:
        data = path.read_bytes()[: _MAX + 1]
        argv = json.loads(data)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path}: is not JSON: {error}.", next_move='Write an array such as ["/opt/tool"].'
        ) from error
    if not isinstance(argv, list) or not argv or not all(isinstance(item, str) and item for item in argv):
        raise InvalidInput(f'{path}: must be an array of strings, the complete argv, such as ["/usr/bin/python3"].')
    program = Path(argv[0])
    if not program.is_absolute():
        raise InvalidInput(f"{path}: {argv[0]!r} is not an absolute path; no search path and no shell are used.")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise InvalidInput(f"{path}: {argv[0]!r} is not an executable file.")
    with program.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Launcher(argv, digest, file.tell())
