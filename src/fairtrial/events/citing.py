"""Of which files a tool's output shows lines: `path:12:text` of searchers, and the places that compilers name. Pure."""

import re
from collections.abc import Iterable

READ_CHARACTERS = 1024 * 1024  # of an output; what comes later is not looked at
MOST = 200
# Every repetition is bounded or ends at a character that it can't contain, so that no text takes long.
_SEARCHED = re.compile(r"^([^\s:][^:\n]{0,300}):[0-9]{1,9}:", re.MULTILINE)
_DIAGNOSED = re.compile(
    r'^[ \t]{0,16}File "([^"\n]{1,300})", line [0-9]{1,9}'
    r"|^([^\s:()][^:()\n]{0,300})(?::[0-9]{1,9}:[0-9]{1,9}:|\([0-9]{1,9},[0-9]{1,9}\):)"
    r"|^[ \t]{0,16}--> ([^:\n]{1,300}):[0-9]{1,9}:[0-9]{1,9}$",
    re.MULTILINE,
)


def searched(output: str) -> tuple[str, ...]:
    """The files that lines like `path:12:text` name; the lines around a match are of the same files."""
    return _unique(found.group(1) for found in _SEARCHED.finditer(output[:READ_CHARACTERS]))


def diagnosed(output: str) -> tuple[str, ...]:
    """The files that tracebacks and compilers' messages name with a line."""
    found = (one.group(1) or one.group(2) or one.group(3) for one in _DIAGNOSED.finditer(output[:READ_CHARACTERS]))
    return _unique(path for path in found if not path.startswith("<"))


def _unique(found: Iterable[str]) -> tuple[str, ...]:
    made: dict[str, None] = {}
    for path in found:
        made.setdefault(path)
        if len(made) == MOST:
            break
    return tuple(made)
