"""States in words with a sign beside them, so that no colour is needed to tell them apart. Pure."""

from fairtrial_analysis.html.markup import Element, tag

_PATHS = {
    "pass": "M3.5 8.5l3.2 3.4 6-7.6",
    "fail": "M4 4l8 8M12 4l-8 8",
    "unknown": "M5 6a3 3 0 1 1 4.3 2.7c-.9.5-1.3.9-1.3 1.9M8 13v.2",
}
_STATES = {"pass": "holds", "fail": "does not hold", "unknown": "unknown"}
_GATES = {"pass": "passed", "fail": "not passed", "unknown": "unknown"}
VERDICTS = {"SUPPORTED": "pass", "NOT SUPPORTED": "fail", "INCONCLUSIVE": "unknown"}


def glyph(state: str) -> Element:
    """The sign of a state; the word beside it is what is read aloud."""
    return tag("svg", tag("path", d=_PATHS[state], class_="glyph"), viewBox="0 0 16 16", aria_hidden="true")


def state(value: str, *, gate: bool = False) -> Element:
    """A state in words."""
    return tag("span", glyph(value), (_GATES if gate else _STATES)[value], class_=f"state {value}")


def verdict(word: str) -> Element:
    """A verdict in a line of text."""
    return tag("span", glyph(VERDICTS[word]), word, class_=f"state {VERDICTS[word]}")


def yes_no(value: bool | None) -> str:
    """A three-valued answer."""
    return {True: "yes", False: "no", None: "unknown"}[value]
