"""Files that an agent reads and writes through the client: text, below one folder, of a bounded size.

An agent that asks for another place has made a mistake and is told so. It runs as the same user and could go there by
itself: this is the protocol's manners, and no wall. The wall is the pod.
"""

import os
import stat
from pathlib import Path

from acp import RequestError

MOST_BYTES = 8 * 1024 * 1024  # a line with it, escaped, has to fit


class Files:
    """The text files below a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def read(self, path: str, line: int | None, limit: int | None) -> str:
        """A file's text, or `limit` lines of it from line `line`, counting from 1; RequestError if there is none."""
        data = _regular(self._inside(path))
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise refused(path, "is no text in UTF-8") from None
        if line is None and limit is None:
            return text
        begin = max((line or 1) - 1, 0)
        return "".join(text.splitlines(keepends=True)[begin : None if limit is None else begin + max(limit, 0)])

    def write(self, path: str, content: str) -> None:
        """Write a file, with the folders that it needs; RequestError if it can't be."""
        place = self._inside(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists() and not place.is_file():
                raise refused(path, "is no file")
            place.write_bytes(content.encode())
        except (OSError, UnicodeEncodeError) as error:
            raise refused(path, f"can't be written: {error}") from error

    def _inside(self, path: str) -> Path:
        if not path.startswith("/") or "\0" in path:
            raise refused(path, "is no absolute path")
        try:
            place = Path(path).resolve()
        except (OSError, RuntimeError) as error:
            raise refused(path, f"leads nowhere: {error}") from error
        if not place.is_relative_to(self._root):
            raise refused(path, f"is outside {self._root}")
        return place


def _regular(place: Path) -> bytes:
    """The bytes of a regular file; a pipe or a device is not waited for."""
    name = os.fspath(place)
    try:
        with open(place, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise refused(name, "is no file")
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise RequestError.resource_not_found(name) from None
    except OSError as error:
        raise refused(name, f"can't be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise refused(name, f"has more than {MOST_BYTES // 2**20} MiB")
    return data


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def refused(path: str, why: str) -> RequestError:
    """What the agent is told."""
    return RequestError(-32602, f"{path[:500]} {why}.")
