"""Pack files, folders and bytes into one deterministic archive, refusing what `extract` would refuse."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.archive.rules import LIMITS, Limits, Member, link_fault, name_fault, order
from fairtrial.archive.writer import Sink, Writer
from fairtrial.errors import UnsafeArchive

_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Packed:
    """What was written: the archive's digest, its size and its number of members."""

    sha256: str
    size: int
    members: int


def pack(
    contents: Mapping[str, Path | bytes],
    sink: Sink,
    *,
    ignore: Callable[[str], bool] = lambda _: False,
    limits: Limits = LIMITS,
) -> Packed:
    """Write `contents` (name in the archive → bytes, file or folder; "" is the root) to `sink` as one archive.

    `ignore` is asked with each name in the archive; an ignored folder's content is left out with it.
    """
    found: dict[str, tuple[Member, Path | bytes]] = {}
    for name, source in contents.items():
        for member, where in _members(name, source, ignore):
            _check(member, found)
            found[member.path] = (member, where)
            if len(found) > limits.members:
                raise UnsafeArchive(
                    f"More than {limits.members} files to pack.", next_move="Leave generated files out."
                )
    _refuse_case_clashes(found)
    writer = Writer(sink)
    for _, (member, where) in sorted(found.items(), key=lambda item: order(item[0])):
        writer.add(member, _content(member, where))
        if writer.size > limits.bytes:
            raise UnsafeArchive(f"More than {limits.bytes} bytes to pack.")
    return Packed(writer.close(), writer.size, len(found))


def _members(name: str, source: Path | bytes, ignore: Callable[[str], bool]) -> Iterator[tuple[Member, Path | bytes]]:
    for parent in _parents(name):
        yield Member(parent, "dir"), b""
    if isinstance(source, bytes):
        yield Member(name, "file", size=len(source)), source
        return
    state = source.lstat()
    if stat.S_ISDIR(state.st_mode):
        if name:
            yield Member(name, "dir"), b""
        for child in sorted(item.name for item in source.iterdir()):
            path = f"{name}/{child}" if name else child
            if not ignore(path):
                yield from _members_below(path, source / child, ignore)
    elif stat.S_ISLNK(state.st_mode):
        yield Member(name, "link", target=os.readlink(source)), b""  # noqa: PTH115 — Path would normalise the target
    elif stat.S_ISREG(state.st_mode):
        yield Member(name, "file", bool(state.st_mode & 0o100), state.st_size), source
    else:
        raise UnsafeArchive(f"{source} is neither file, folder nor link.", next_move="Remove it.")


def _members_below(name: str, source: Path, ignore: Callable[[str], bool]) -> Iterator[tuple[Member, Path | bytes]]:
    parents = set(_parents(name))
    return (pair for pair in _members(name, source, ignore) if pair[0].path not in parents)


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _check(member: Member, found: Mapping[str, tuple[Member, Path | bytes]]) -> None:
    fault = name_fault(member.path) or (link_fault(member.path, member.target) if member.kind == "link" else "")
    if fault:
        raise UnsafeArchive(f"{member.path!r}: {fault}.", next_move="Rename or remove it.")
    other = found.get(member.path)
    if other and not (member.kind == other[0].kind == "dir"):
        raise UnsafeArchive(f"{member.path!r} is given twice.")


def _refuse_case_clashes(names: Mapping[str, object]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.casefold(), name)) != name:
            raise UnsafeArchive(f"{name!r} and {other!r} differ only in case.", next_move="Rename one of them.")


def _content(member: Member, source: Path | bytes) -> Iterator[bytes]:
    if member.kind != "file":
        return
    if isinstance(source, bytes):
        yield source
        return
    left = member.size
    with source.open("rb") as file:
        while left and (chunk := file.read(min(left, _CHUNK))):
            left -= len(chunk)
            yield chunk
    if left:
        raise UnsafeArchive(
            f"{source} became shorter while it was read.", next_move="Pack a folder that nobody writes."
        )
