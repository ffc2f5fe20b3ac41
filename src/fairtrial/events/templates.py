"""A line of text with named gaps, for harnesses that print prose: `Applied edit to {path}`. Pure.

Not regular expressions: an adapter is somebody else's, the text is an agent's, and a backtracking pattern over both
can run for ever. A gap takes the shortest text up to what follows it; the whole line must match. `{_}` is a gap that is
not kept; `{n:int}` takes digits only. `{{` and `}}` are braces.
"""

import functools
import re
from dataclasses import dataclass

from fairtrial.errors import InvalidInput

MAX_LENGTH = 512
_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)(:int)?\}|[{}]|[^{}]+")


@dataclass(frozen=True)
class Gap:
    """A named gap, and the literal text that ends it; empty at the line's end."""

    name: str
    digits: bool
    until: str


@dataclass(frozen=True)
class Template:
    """What a line must begin with, then its gaps."""

    prefix: str
    gaps: tuple[Gap, ...]

    def match(self, line: str) -> dict[str, str] | None:
        """The gaps' texts, or None if the line is not like this."""
        if not line.startswith(self.prefix):
            return None
        found, at = {}, len(self.prefix)
        for number, gap in enumerate(self.gaps):
            last = number == len(self.gaps) - 1
            end = _end(line, at, gap.until, last=last)
            if end < at or (gap.digits and not _digits(line[at:end])):
                return None
            if gap.name != "_":
                found[gap.name] = line[at:end]
            at = end + len(gap.until)
        return found if at == len(line) else None


@functools.lru_cache(maxsize=1024)
def compiled(text: str) -> Template:
    """Read a template; InvalidInput says what is wrong with it."""
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"line {text[:40]!r}… has more than {MAX_LENGTH} characters.")
    literal, names = [""], []
    for found in _PART.finditer(text):
        if found.group(1):
            names.append((found.group(1), bool(found.group(2))))
            literal.append("")
        elif found.group() in ("{", "}"):
            raise InvalidInput(f"line {text!r}: a brace stands alone; write {{{{ or }}}} for a brace.")
        else:
            literal[-1] += {"{{": "{", "}}": "}"}.get(found.group(), found.group())
    if any(not between for between in literal[1:-1]):
        raise InvalidInput(f"line {text!r}: two gaps touch; put text between them.")
    gaps = tuple(Gap(name, digits, until) for (name, digits), until in zip(names, literal[1:], strict=True))
    return Template(literal[0], gaps)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _end(line: str, at: int, until: str, *, last: bool) -> int:
    """Where the gap that begins at `at` ends; -1 if nowhere."""
    if not until:
        return len(line)
    if last:  # what ends the last gap also ends the line
        return len(line) - len(until) if line.endswith(until) else -1
    return line.find(until, at)
