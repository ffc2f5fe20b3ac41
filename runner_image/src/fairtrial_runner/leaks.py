"""Look for the sealed part's canary wherever the agent could: whatever matches is a leak, and the agent never starts.

Covers files, names, link targets, the environment, and git objects, loose and packed: what a repository has forgotten
is still in there. Bounded in bytes: what was not looked at any more is told. Content encoded otherwise is not found.
"""

import mmap
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial import names
from fairtrial.archive import printable

_CANARY = re.compile(names.CANARY_PATTERN.encode())
_CANARY_BYTES = 64  # no match is longer
_CHUNK = 1024 * 1024
_OBJECT_MAX = 64 * 1024 * 1024
_LEAKS_MAX = 100


@dataclass
class Scan:
    """One scan with one budget of bytes over all places."""

    budget: int = 2 * 1024**3
    leaks: list[str] = field(default_factory=list)
    exhausted: bool = False

    def environment(self, env: Mapping[str, str]) -> None:
        """Names and values of environment variables."""
        for name, value in env.items():
            self._match(os.fsencode(f"{name}={value}"), f"environment {name}")

    def tree(self, root: Path) -> None:
        """Everything below a folder, following no link."""
        for folder, _, files in os.walk(root):
            for name in files:
                path = Path(folder, name)
                shown = printable(os.fspath(path))
                self._match(os.fsencode(path), f"name {shown}")
                if path.is_symlink():
                    self._match(os.fsencode(path.readlink()), f"link {shown}")
                elif path.is_file():
                    self._file(path, shown)

    def _file(self, path: Path, shown: str) -> None:
        try:
            self._pieces(_read(path), shown)
            if _loose_object(path):
                self._pieces(_inflated(path.read_bytes()[:_OBJECT_MAX]), f"git object {shown}")
            elif path.suffix == ".pack":
                for content in _packed(path):
                    self._pieces(content, f"git pack {shown}")
        except (OSError, ValueError):
            return  # unreadable for us is unreadable for the agent, who is the same user

    def _pieces(self, pieces: Iterator[bytes], where: str) -> None:
        tail = b""
        for piece in pieces:
            if self.budget <= 0:
                self.exhausted = True
                return
            self.budget -= len(piece)
            if self._match(tail + piece, where):
                return
            tail = piece[-_CANARY_BYTES:]

    def _match(self, data: bytes, where: str) -> bool:
        found = _CANARY.search(data) is not None
        if found and where not in self.leaks and len(self.leaks) < _LEAKS_MAX:
            self.leaks.append(where)
        return found


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _loose_object(path: Path) -> bool:
    return re.fullmatch(r"[0-9a-f]{38,62}", path.name) is not None and len(path.parent.name) == 2  # noqa: PLR2004


def _inflated(data: bytes) -> Iterator[bytes]:
    """The content of a zlib stream, as far as it is one."""
    stream = zlib.decompressobj()
    try:
        while data and not stream.eof:
            yield stream.decompress(data, _CHUNK)
            data = stream.unconsumed_tail
    except zlib.error:
        return


def _packed(path: Path) -> Iterator[Iterator[bytes]]:
    """The inflated content of each object of a git pack: whole objects, and the literal parts of deltas."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pack:
        if pack[:4] != b"PACK":
            return
        position = 12
        for _ in range(int.from_bytes(pack[8:12], "big")):
            start = _after_header(pack, position)
            stream = zlib.decompressobj()
            pieces: list[bytes] = []
            at, size = start, 0
            while not stream.eof and at < len(pack):
                piece = stream.decompress(pack[at : at + 65536])
                at += 65536
                size += len(piece)
                if size <= _OBJECT_MAX:
                    pieces.append(piece)
            yield iter([b"".join(pieces)])
            position = min(at, len(pack)) - len(stream.unused_data)


def _after_header(pack: mmap.mmap, position: int) -> int:
    """Skip an object's type and size, and what a delta names as its base."""
    kind = (pack[position] >> 4) & 7
    position = _after_varint(pack, position)
    if kind == 6:  # noqa: PLR2004 — a delta that names its base by distance
        return _after_varint(pack, position)
    return position + 20 if kind == 7 else position  # noqa: PLR2004 — a delta that names its base by object id


def _after_varint(pack: mmap.mmap, position: int) -> int:
    while pack[position] & 0x80:
        position += 1
    return position + 1
