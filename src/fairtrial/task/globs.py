"""Globs as task authors write them, over relative paths with `/`. Standard library only: pods restore files by them.

`*` and `?` stay inside one segment, `**` is any number of segments; a glob without `/` names a file at any depth.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence


def matches(path: str, globs: Sequence[str]) -> bool:
    """Whether a relative path is named by any of the globs."""
    return any(_compiled(glob).fullmatch(path) for glob in globs)


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """The same as a test to use many times."""
    compiled = [_compiled(glob) for glob in globs]
    return lambda path: any(each.fullmatch(path) for each in compiled)


@functools.cache
def _compiled(glob: str) -> re.Pattern[str]:
    segments = glob.strip("/").split("/")
    if glob.endswith("/"):
        segments.append("**")
    if len(segments) == 1 and segments != ["**"]:
        segments = ["**", *segments]
    last = len(segments) - 1
    pieces = [_segment(segment, is_last=index == last) for index, segment in enumerate(segments)]
    return re.compile("".join(pieces), re.DOTALL)


def _segment(segment: str, *, is_last: bool) -> str:
    if segment == "**":
        return ".+" if is_last else "(?:[^/]+/)*"
    text = "[^/]*".join(re.escape(part) for part in segment.split("*")).replace(r"\?", "[^/]")
    return text if is_last else f"{text}/"
