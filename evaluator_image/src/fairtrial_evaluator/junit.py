"""JUnit XML, read with suspicion: no document type, no entities, bounded size, depth and number of tests."""

from xml.parsers import expat

from fairtrial_evaluator.results import MAX_BYTES, MAX_DEPTH, State, TestReport, UnreadableResults, collect

_BAD = {"failure": "failed", "error": "failed", "skipped": "skipped"}


def parse(data: bytes) -> TestReport:
    """Read a report. A test's id is `classname::name`, or its name where it has no class."""
    if len(data) > MAX_BYTES:
        raise UnreadableResults(f"The JUnit file has more than {MAX_BYTES} bytes.")
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UnreadableResults(f"The JUnit file is not XML: {error}.") from error
    if not reader.saw_root:
        raise UnreadableResults("The JUnit file has no testsuite.")
    return collect(reader.found)


class _Reader:
    """Follows the elements; only testcases and what lies directly in them matter."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.saw_root = False
        self.found: list[tuple[str, State]] = []
        self._open: list[str] = []
        self._name = ""
        self._state: State = "passed"

    def _refuse(self, *_: object) -> None:
        raise UnreadableResults("The JUnit file declares a document type or an entity.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._open and tag not in {"testsuites", "testsuite"}:
            raise UnreadableResults(f"The JUnit file begins with <{tag[:40]}>.")
        self.saw_root = True
        if tag == "testcase" and "testcase" in self._open:
            raise UnreadableResults("The JUnit file has a testcase inside a testcase.")
        if tag == "testcase":
            self._name, self._state = _identity(attributes), "passed"
        elif self._open[-1:] == ["testcase"] and tag in _BAD and self._state != "failed":
            self._state = "failed" if _BAD[tag] == "failed" else "skipped"
        self._open.append(tag)
        if len(self._open) > MAX_DEPTH:
            raise UnreadableResults("The JUnit file is nested too deeply.")

    def _end(self, tag: str) -> None:
        self._open.pop()
        if tag == "testcase":
            self.found.append((self._name, self._state))


def _identity(attributes: dict[str, str]) -> str:
    name = attributes.get("name", "")
    if not name:
        raise UnreadableResults("The JUnit file has a testcase without a name.")
    owner = attributes.get("classname", "")
    return f"{owner}::{name}" if owner else name
