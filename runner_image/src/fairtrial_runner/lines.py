"""The shortest edit between two lists of lines, within a bound on effort; pure.

Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986, section 4) on what lies between the
common beginning and the common end. Deviation: past `MAX_EDITS`, or when the effort that all texts share is used up,
the middle counts as replaced as a whole: the texts are an agent's and must not be able to keep the recorder busy.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_EDITS = 1500
EFFORT = 30_000_000  # lines looked at: less than a minute


@dataclass
class Effort:
    """What is left of the effort for many comparisons; counted in steps and not in time, so that results stay equal."""

    left: int = EFFORT


class Block(NamedTuple):
    """`old[i1:i2]` was replaced by `new[j1:j2]`; one of both may be empty."""

    i1: int
    i2: int
    j1: int
    j2: int


def changes(old: Sequence[bytes], new: Sequence[bytes], effort: Effort | None = None) -> list[Block]:
    """The blocks that differ, in order."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if not a and not b:
        return []
    if not a or not b or (trace := _search(a, b, effort or Effort())) is None:
        return [Block(start, start + len(a), start, start + len(b))]
    return [Block(i1 + start, i2 + start, j1 + start, j2 + start) for i1, i2, j1, j2 in _blocks(trace, len(a), len(b))]


class _Reach:
    """How far each diagonal reaches after a number of edits: a window of an array, since traces are many."""

    def __init__(self, reach: "array[int]", centre: int, edits: int) -> None:
        self._window = reach[centre - edits - 1 : centre + edits + 2]
        self._centre = edits + 1

    def before(self, k: int, edits: int) -> tuple[int, bool]:
        """Where the last edit towards diagonal `k` began, and whether it was an insertion."""
        left, right = self._window[self._centre + k - 1], self._window[self._centre + k + 1]
        down = k == -edits or (k != edits and left < right)
        return (right if down else left), down


def _search(a: Sequence[bytes], b: Sequence[bytes], effort: Effort) -> list[_Reach] | None:
    """For each number of edits, how far each diagonal reached before it; None past a bound."""
    most = min(len(a) + len(b), MAX_EDITS)
    centre = most + 1
    reach = array("l", [0]) * (2 * centre + 1)
    trace: list[_Reach] = []
    for edits in range(most + 1):
        if effort.left <= 0:
            return None
        trace.append(_Reach(reach, centre, edits))
        for k in range(-edits, edits + 1, 2):
            before, down = trace[-1].before(k, edits)
            x = before + (not down)
            y = x - k
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reach[centre + k] = x
            effort.left -= 1 + x - before
            if x >= len(a) and y >= len(b):
                return trace
    return None


def _blocks(trace: list[_Reach], x: int, y: int) -> list[Block]:
    """Walk the search back from the end, and join neighbouring edits."""
    edits: list[Block] = []
    for count in range(len(trace) - 1, 0, -1):
        k = x - y
        before, down = trace[count].before(k, count)
        at = before - (k + 1 if down else k - 1)
        edits.append(Block(before, before + (not down), at, at + down))
        x, y = before, at
    joined: list[Block] = []
    for edit in reversed(edits):
        last = joined[-1] if joined else None
        if last is not None and (last.i2, last.j2) == (edit.i1, edit.j1):
            joined[-1] = Block(last.i1, edit.i2, last.j1, edit.j2)
        else:
            joined.append(edit)
    return joined
