"""The one place outside the checkout where everything downloaded or built is kept, keyed by content.

An entry is a folder named after the hash of what it was made from. It is built under a temporary name and renamed when
it is complete, so an interrupted build leaves nothing that looks finished.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from local_cluster.progress import say


def root() -> Path:
    """The cache folder: `FAIRTRIAL_CACHE`, or `~/.cache/fairtrial`."""
    return Path(os.environ.get("FAIRTRIAL_CACHE") or Path.home() / ".cache" / "fairtrial")


def key(*parts: bytes | str) -> str:
    """A short content key over `parts`, each length-prefixed so that no two lists of parts collide."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:16]


def files_key(paths: Iterable[Path], *extra: str, ignored: Container[str] = ("__pycache__",)) -> str:
    """A content key over files and folders: names, executable bits and bytes, but no times and no absolute paths.

    Files and folders whose name is in `ignored` do not count.
    """
    parts: list[bytes | str] = list(extra)
    for path in paths:
        for file in sorted(_files(path, ignored)) if path.is_dir() else [path]:
            name = file.relative_to(path.parent).as_posix()
            parts += [name, "x" if os.access(file, os.X_OK) else "-", file.read_bytes()]
    return key(*parts)


def _files(folder: Path, ignored: Container[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ignored]
        for name in names:
            if name not in ignored and (file := Path(place, name)).is_file():
                yield file


def entry(kind: str, name: str, content_key: str, make: Callable[[Path], None]) -> Path:
    """The folder of a finished entry; `make` fills a temporary folder first when it is not there yet.

    A lock per entry keeps two callers from building the same thing twice at once. Older entries of the same kind and
    name are removed when a new one is complete, so the cache does not grow with every edit.
    """
    parent = root() / kind / name
    final = parent / content_key
    if final.is_dir():
        return final
    parent.mkdir(parents=True, exist_ok=True)
    with (parent / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"  waiting for another process that makes {name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if final.is_dir():
            return final
        building = parent / f"{content_key}.building"
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir()
        make(building)
        building.rename(final)
        for old in parent.iterdir():
            if old.is_dir() and old != final:
                shutil.rmtree(old, ignore_errors=True)
        return final
