"""Lay an archive out below a folder so that nothing can be written, or later be reached, outside of it."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fairtrial.archive.reader import read_members
from fairtrial.archive.rules import LIMITS, Limits, Member, link_fault, name_fault
from fairtrial.errors import DigestMismatch, UnsafeArchive


@dataclass(frozen=True)
class Extracted:
    """What was laid out; `skipped` tells "path: why" of members that were left out (`unsafe="skip"` only)."""

    sha256: str
    size: int
    members: int
    skipped: list[str] = field(default_factory=list)


def extract(
    chunks: Iterable[bytes],
    target: Path,
    *,
    sha256: str | None = None,
    limits: Limits = LIMITS,
    unsafe: Literal["refuse", "skip"] = "refuse",
) -> Extracted:
    """Lay out an archive below `target`, an existing folder that must not hold any of its names yet.

    A digest can only be known at the end: on any error the caller discards `target`. With `unsafe="skip"`, which is
    for snapshots of what an agent left, members that might lead out of the tree are left out and listed.
    """
    tally = _Tally()
    layout = _Layout(strict=unsafe == "refuse")
    skipped = []
    count = 0
    for member, content in read_members(tally.watch(chunks), limits):
        fault = layout.fault(member)
        if fault and unsafe == "refuse":
            raise UnsafeArchive(f"{member.path!r}: {fault}.")
        if fault:
            skipped.append(f"{member.path}: {fault}")
            continue
        _lay_out(target, layout.with_parents(member), content)
        count += 1
    if sha256 is not None and tally.hash.hexdigest() != sha256:
        raise DigestMismatch("The archive", sha256, tally.hash.hexdigest())
    return Extracted(tally.hash.hexdigest(), tally.size, count, skipped)


class _Tally:
    """Hashes and counts what passes by."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.size = 0

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.hash.update(chunk)
            self.size += len(chunk)
            yield chunk


class _Layout:
    """Knows what has been laid out so far, and so what may follow. Pure: it decides, and touches no file."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._kinds: dict[str, str] = {}
        self._folded: dict[str, str] = {}

    def fault(self, member: Member) -> str:
        """Why this member may not be laid out; empty if it may."""
        fault = name_fault(member.path, strict=self._strict)
        if not fault and member.kind == "link":
            fault = link_fault(member.path, member.target)
        if fault:
            return fault
        if member.path in self._kinds:
            return "the same name twice"
        parent = member.path
        while "/" in parent:
            parent = parent.rpartition("/")[0]
            if self._kinds.get(parent, "dir") != "dir":
                return "a name below something that is not a folder"
        if self._strict and self._folded.get(member.path.casefold(), member.path) != member.path:
            return "a name that differs from another only in case"
        return ""

    def with_parents(self, member: Member) -> list[Member]:
        """The member after those of its parent folders that no member announced; all are known from now on."""
        missing = []
        parent = member.path.rpartition("/")[0]
        while parent and parent not in self._kinds:
            missing.append(Member(parent, "dir"))
            parent = parent.rpartition("/")[0]
        members = [*reversed(missing), member]
        for each in members:
            self._kinds[each.path] = each.kind
            if self._strict:
                self._folded[each.path.casefold()] = each.path
        return members


def _lay_out(target: Path, members: list[Member], content: Iterator[bytes]) -> None:
    for member in members:
        path = os.path.join(target, member.path)  # noqa: PTH118 — Path would normalise names that must stay as they are
        if member.kind == "dir":
            os.mkdir(path, 0o755)  # noqa: PTH102
        elif member.kind == "link":
            os.symlink(member.target, path)  # noqa: PTH211
        else:
            mode = 0o755 if member.executable else 0o644
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as file:
                for chunk in content:
                    file.write(chunk)
