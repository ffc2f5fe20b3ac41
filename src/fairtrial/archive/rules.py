"""What may be in an archive: pure rules on names, links and sizes, shared by the writer and the reader."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

Kind = Literal["file", "dir", "link"]

NAME_BYTES, PATH_BYTES, DEPTH = 255, 1024, 64
# Characters that make a name look like another one: direction marks and overrides, zero-width characters.
_MISLEADING = frozenset(
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold in all. Past it, it is refused while it is read."""

    members: int = 100_000
    bytes: int = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a tree. `executable` is all that is kept of a mode; `offset` is where an archive has the content."""

    path: str
    kind: Kind
    executable: bool = False
    size: int = 0
    target: str = ""  # of a link
    sha256: str = ""  # of a file's content
    offset: int = -1


LIMITS = Limits()


def name_fault(path: str, *, strict: bool = True) -> str:
    """Say why a relative path may not be in an archive; empty if it may.

    `strict` also refuses what is harmless to a Linux file system but misleads people or other systems. Snapshots are
    read without it: an agent's odd file name is its own affair, and must not become a failure of the evaluation.
    """
    raw = path.encode("utf-8", "surrogateescape")
    parts = path.split("/")
    if path.startswith("/"):
        return "absolute name"
    if any(part in ("", ".", "..") for part in parts):
        return "empty, '.' or '..' in the name"
    if b"\0" in raw:
        return "NUL in the name"
    if (
        len(raw) > PATH_BYTES
        or len(parts) > DEPTH
        or any(len(p.encode("utf-8", "surrogateescape")) > NAME_BYTES for p in parts)
    ):
        return "name too long or too deep"
    return _confusing(path) if strict else ""


def _confusing(path: str) -> str:
    for character in path:
        if "\udc80" <= character <= "\udcff":
            return "name that is not UTF-8"
        if character in _MISLEADING or unicodedata.category(character) == "Cc":
            return "control or direction character in the name"
    return "backslash in the name" if "\\" in path else ""


def order(path: str) -> list[bytes]:
    """The sort key of members: folder by folder, so that a tree walked in order is an archive in order."""
    return path.encode("utf-8", "surrogateescape").split(b"/")


def link_fault(path: str, target: str) -> str:
    """Say why a symbolic link might lead out of its tree; empty if it cannot.

    `..` may only lead, and not past the root: then every link resolves inside, whatever other links lie on the way,
    because each of them obeys the same rule from a real folder.
    """
    if not target or target.startswith("/"):
        return "link with an absolute or empty target"
    if "\0" in target or len(target.encode("utf-8", "surrogateescape")) > PATH_BYTES:
        return "link with an overlong target or NUL in it"
    parts = [part for part in target.split("/") if part not in ("", ".")]
    leading = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
    if ".." in parts[leading:]:
        return "link with '..' after a name in its target"
    if leading > path.count("/"):
        return "link that leads out of the tree"
    return ""
