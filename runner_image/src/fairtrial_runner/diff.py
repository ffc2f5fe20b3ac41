"""The normalized difference between the fixture's archive and the snapshot: same two archives, same bytes.

It reads as a git patch, as bytes: line ends, encodings and a missing last newline are kept. Binary, very big and
special files are told in one line with sizes and digests. Generated files are listed at the end. The patch is bounded:
past `_OUTPUT_MAX` every file is told in a line, past `_LINES_MAX` only counted; the snapshot has all of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fairtrial.archive import Member, content, index, printable
from fairtrial.documents import Artifact, Diff
from fairtrial.task import globs
from fairtrial_runner.lines import Block, Effort, changes

_TEXT_MAX = 1024 * 1024
_OUTPUT_MAX = 64 * 1024 * 1024
_LINES_MAX = 96 * 1024 * 1024
_PATHS_MAX = 1000
_CONTEXT = 3


@dataclass
class Counts:
    """What the difference amounts to."""

    added: int = 0
    modified: int = 0
    deleted: int = 0
    lines_added: int = 0
    lines_deleted: int = 0
    binary: int = 0
    generated: int = 0
    left_out: int = 0  # paths that are not in the patch at all
    paths: list[str] = field(default_factory=list)

    def as_diff(self, artifact: Artifact) -> Diff:
        """As the report has it."""
        return Diff(
            "measured",
            artifact,
            self.added,
            self.modified,
            self.deleted,
            self.lines_added,
            self.lines_deleted,
            self.binary,
            self.generated,
            self.paths,
        )


def write_diff(base: Path, final: Path, generated: Sequence[str], sink: BinaryIO) -> Counts:
    """Write the difference between two archives to `sink`, and count it."""
    old, new = _files(index(base)), _files(index(final))
    counts = Counts()
    with base.open("rb") as old_file, final.open("rb") as new_file:
        patch = _Patch(
            counts, lambda m: content(old_file, m, at_most=_TEXT_MAX), lambda m: content(new_file, m, at_most=_TEXT_MAX)
        )
        apart = []
        for path in changed(old, new):
            if globs.matches(path, generated) or globs.matches(path.partition("/")[2], generated):
                apart.append(path)
                continue
            _write(sink, patch.of(path, old.get(path), new.get(path), in_full=sink.tell() < _OUTPUT_MAX), counts)
    counts.generated = len(apart)
    for path in apart:
        _write(sink, [b"# generated: " + summary(path, old.get(path), new.get(path))], counts)
    if counts.left_out:
        sink.write(b"# %d more paths: the difference is too long\n" % counts.left_out)
    return counts


def _write(sink: BinaryIO, lines: Iterable[bytes], counts: Counts) -> None:
    """Write one path's lines, or only count them where there is no more room."""
    room = sink.tell() < _LINES_MAX
    counts.left_out += not room
    for line in lines:
        if room:
            sink.write(line)


def _files(members: Mapping[str, Member]) -> dict[str, Member]:
    """Files and links: a folder alone is no content."""
    return {path: member for path, member in members.items() if member.kind != "dir"}


def changed(old: Mapping[str, Member], new: Mapping[str, Member]) -> list[str]:
    """Paths whose kind, content, target or executable bit differs, sorted by bytes. Pure."""
    paths = [path for path in {**old, **new} if identity(old.get(path)) != identity(new.get(path))]
    return sorted(paths, key=lambda path: path.encode("utf-8", "surrogateescape"))


def identity(member: Member | None) -> tuple[object, ...] | None:
    """What two members must share to be the same."""
    return None if member is None else (member.kind, member.sha256, member.target, member.executable)


def summary(path: str, old: Member | None, new: Member | None) -> bytes:
    """One line for a file that is not shown: what it was and what it is."""
    return f"{printable(path)}: {_short(old)} -> {_short(new)}\n".encode()


def _short(member: Member | None) -> str:
    if member is None:
        return "absent"
    return (
        f"link to {printable(member.target)}"
        if member.kind == "link"
        else f"{member.size} bytes sha256:{member.sha256}"
    )


class _Patch:
    """Writes one file's difference after the other, in the form that git applies."""

    def __init__(
        self, counts: Counts, read_old: Callable[[Member], bytes], read_new: Callable[[Member], bytes]
    ) -> None:
        self._counts, self._read_old, self._read_new = counts, read_old, read_new
        self._effort = Effort()

    def of(self, path: str, old: Member | None, new: Member | None, *, in_full: bool) -> Iterator[bytes]:
        """The difference of one path: its header, and hunks where both sides are text."""
        counts = self._counts
        counts.added += old is None
        counts.deleted += new is None
        counts.modified += old is not None and new is not None
        if len(counts.paths) < _PATHS_MAX:
            counts.paths.append(printable(path))
        if old is not None and new is not None and old.kind != new.kind:
            # git shows a change of kind as the end of one file and the beginning of another.
            yield from self._sides(path, old, None, in_full=in_full)
            yield from self._sides(path, None, new, in_full=in_full)
        else:
            yield from self._sides(path, old, new, in_full=in_full)

    def _sides(self, path: str, old: Member | None, new: Member | None, *, in_full: bool) -> Iterator[bytes]:
        a, b = quoted(b"a/", path), quoted(b"b/", path)
        yield b"diff --git " + a + b" " + b + b"\n"
        yield from _modes(old, new)
        if old and new and (old.sha256, old.target) == (new.sha256, new.target):
            return
        before, after = self._text(old, self._read_old), self._text(new, self._read_new)
        if before is None or after is None or not in_full:
            self._counts.binary += 1
            yield b"# not shown: " + summary(path, old, new)
            yield (
                b"Binary files " + (a if old else b"/dev/null") + b" and " + (b if new else b"/dev/null") + b" differ\n"
            )
            return
        if before or after:
            yield b"--- " + (a if old else b"/dev/null") + b"\n+++ " + (b if new else b"/dev/null") + b"\n"
            yield from self._hunks(before, after)

    @staticmethod
    def _text(member: Member | None, read: Callable[[Member], bytes]) -> list[bytes] | None:
        """A member's lines with their ends; None where it is no text of a size to compare."""
        if member is None:
            return []
        if member.kind == "link":
            return [member.target.encode("utf-8", "surrogateescape")]
        if member.size > _TEXT_MAX or b"\0" in (data := read(member)):
            return None
        return _split(data)

    def _hunks(self, old: list[bytes], new: list[bytes]) -> Iterator[bytes]:
        for group in _groups(changes(old, new, self._effort)):
            start, end = max(0, group[0].i1 - _CONTEXT), min(len(old), group[-1].i2 + _CONTEXT)
            shift = group[0].j1 - group[0].i1
            new_end = group[-1].j2 + end - group[-1].i2
            yield b"@@ -%s +%s @@\n" % (_range(start, end), _range(start + shift, new_end))
            at = start
            for block in group:
                yield from (_line(b" ", line) for line in old[at : block.i1])
                yield from (_line(b"-", line) for line in old[block.i1 : block.i2])
                yield from (_line(b"+", line) for line in new[block.j1 : block.j2])
                self._counts.lines_deleted += block.i2 - block.i1
                self._counts.lines_added += block.j2 - block.j1
                at = block.i2
            yield from (_line(b" ", line) for line in old[at:end])


def quoted(prefix: bytes, path: str) -> bytes:
    """A path as git writes it: quoted in C style where it holds anything but printable ASCII."""
    raw = prefix + path.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in raw):  # noqa: PLR2004 — printable ASCII
        return raw
    special = {ord("\n"): b"\\n", ord("\t"): b"\\t", ord('"'): b'\\"', ord("\\"): b"\\\\"}
    plain = (special.get(byte) or (bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte) for byte in raw)  # noqa: PLR2004
    return b'"' + b"".join(plain) + b'"'


def _modes(old: Member | None, new: Member | None) -> Iterator[bytes]:
    if old is None and new is not None:
        yield b"new file mode %s\n" % _mode(new)
    elif new is None and old is not None:
        yield b"deleted file mode %s\n" % _mode(old)
    elif old and new and _mode(old) != _mode(new):
        yield b"old mode %s\nnew mode %s\n" % (_mode(old), _mode(new))


def _mode(member: Member) -> bytes:
    if member.kind == "link":
        return b"120000"
    return b"100755" if member.executable else b"100644"


def _split(data: bytes) -> list[bytes]:
    """Lines with their newline; only \\n ends a line, so that \\r is kept as content."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _groups(blocks: list[Block]) -> Iterator[list[Block]]:
    """Blocks that are near enough to share their context."""
    group: list[Block] = []
    for block in blocks:
        if group and block.i1 - group[-1].i2 > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _range(start: int, end: int) -> bytes:
    length = end - start
    first = start + 1 if length else start
    return b"%d" % first if length == 1 else b"%d,%d" % (first, length)


def _line(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"
