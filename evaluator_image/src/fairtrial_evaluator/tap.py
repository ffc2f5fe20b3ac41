"""TAP 13 and 14: nested subtests, directives and diagnostics; anything out of order makes the whole unreadable."""

import re

from fairtrial_evaluator.results import MAX_BYTES, MAX_DEPTH, State, TestReport, UnreadableResults, collect

_VERSION = re.compile(r"TAP version (13|14)")
_POINT = re.compile(r"(not )?ok\b(?: (\d+))?(?: - | )?(.*)")
_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*(.*))?")
_SUBTEST = re.compile(r"# Subtest(?:: (.*))?")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\b.*", re.IGNORECASE)
_INDENT, _YAML_INDENT = 4, 2


def parse(data: bytes, *, project: str = "") -> TestReport:
    """Read a report. A test's id is the path of names, joined by ` > `; `project` is cut from the front of names."""
    if len(data) > MAX_BYTES:
        raise UnreadableResults(f"The TAP file has more than {MAX_BYTES} bytes.")
    lines = data.decode("utf-8", "replace").splitlines()
    while lines and not lines[0].strip():
        lines.pop(0)
    if not lines or not _VERSION.fullmatch(lines[0].strip()):
        raise UnreadableResults("The TAP file does not begin with `TAP version 13` or `14`.")
    reader = _Reader(project)
    for line in lines[1:]:
        reader.line(line)
    return reader.finish()


class _Reader:
    """Follows the lines: which suites are open, how many points each level has had, whether a YAML block is open."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._names: dict[int, str] = {}
        self._counts: dict[int, int] = {}
        self._plans: dict[int, int] = {}
        self._yaml_indent: int | None = None
        self._found: list[tuple[str, State]] = []
        self._suites: set[str] = set()

    def line(self, line: str) -> None:
        """Take the next line."""
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if self._yaml_indent is not None:
            if text.rstrip() == "..." and indent == self._yaml_indent:
                self._yaml_indent = None
            return
        if text.rstrip() == "---" and indent % _INDENT == _YAML_INDENT:
            self._yaml_indent = indent
            return
        if indent % _INDENT or indent // _INDENT > MAX_DEPTH:
            return  # not TAP: output that a runner passed through
        self._entry(indent // _INDENT, text)

    def finish(self) -> TestReport:
        """The report, if the whole file was in order."""
        if self._yaml_indent is not None:
            raise UnreadableResults("The TAP file ends inside a diagnostic block.")
        if self._plans.get(0) != self._counts.get(0, 0):
            planned = self._plans.get(0, "no")
            raise UnreadableResults(f"The TAP file plans {planned} tests and reports {self._counts.get(0, 0)}.")
        return collect(self._found, self._suites)

    def _entry(self, depth: int, text: str) -> None:
        if text.startswith("Bail out!"):
            raise UnreadableResults("The TAP file bails out.")
        if subtest := _SUBTEST.fullmatch(text):
            self._names[depth] = self._clean(subtest.group(1) or "")
        elif plan := _PLAN.fullmatch(text.rstrip()):
            if depth in self._plans:
                raise UnreadableResults("The TAP file has a second plan.")
            self._plans[depth] = int(plan.group(1)[:9])
        elif point := _POINT.fullmatch(text):
            self._point(depth, failed=bool(point.group(1)), text=point.group(3))

    def _point(self, depth: int, *, failed: bool, text: str) -> None:
        directive = _DIRECTIVE.search(text)
        own = self._clean(text[: directive.start()] if directive else text)
        parents = [self._names.get(level, "") for level in range(depth)]
        name = " > ".join([*parents, own])
        if self._counts.get(depth + 1):
            self._close(depth + 1)
            self._suites.add(name)
        self._counts[depth] = self._counts.get(depth, 0) + 1
        state: State = "failed" if failed else "passed"
        self._found.append((name, "skipped" if directive else state))

    def _close(self, depth: int) -> None:
        """A suite's own line follows its subtests: their plan must be kept, and the level is used anew after it."""
        if self._plans.get(depth) != self._counts.get(depth):
            raise UnreadableResults(f"A subtest plans {self._plans.get(depth)} and reports {self._counts.get(depth)}.")
        for level in [level for level in self._counts if level >= depth]:
            del self._counts[level]
            self._plans.pop(level, None)

    def _clean(self, text: str) -> str:
        plain = re.sub(r"\\(.)", r"\1", text.strip())
        return plain.removeprefix(f"{self._project}/") if self._project else plain
