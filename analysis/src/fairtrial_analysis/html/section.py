"""What a section is made of: a heading with an anchor, and figures with captions. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.svg.figure import Drawing


@dataclass(frozen=True)
class Section:
    """A part of the page with an entry in its contents."""

    id: str
    title: str
    body: tuple[Element, ...]

    @property
    def element(self) -> Element:
        """As it stands on the page."""
        heading = f"{self.id}-heading"
        return tag("section", tag("h2", self.title, id=heading), *self.body, id=self.id, aria_labelledby=heading)


def section(id_: str, title: str, *body: Element | None) -> Section:
    """A section of what there is."""
    return Section(id_, title, tuple(element for element in body if element is not None))


def paragraph(*words: Element | str | None, class_: str | None = None) -> Element:
    """A paragraph."""
    return tag("p", *words, class_=class_)


def note(*words: Element | str) -> Element:
    """Small print: how something was made, and what it does not say."""
    return tag("p", *words, class_="note")


def bullets(items: Iterable[Element | str]) -> Element:
    """A list."""
    return tag("ul", *(tag("li", item) for item in items), class_="plain")


def figure(drawings: Drawing | tuple[Drawing, ...], title: str, says: str, table: Element) -> Element:
    """A figure with its caption above it, and the table of its numbers below."""
    sheets = (drawings,) if isinstance(drawings, Drawing) else drawings
    return tag(
        "figure",
        tag("figcaption", tag("b", title), tag("span", says, class_="note") if says else None),
        *(_sheet(drawing) for drawing in sheets),
        table,
    )


def multiples(drawings: Iterable[Drawing], title: str, says: str, table: Element) -> Element:
    """Small drawings side by side."""
    return tag(
        "figure",
        tag("figcaption", tag("b", title), tag("span", says, class_="note")),
        tag("div", *(drawing.svg for drawing in drawings), class_="multiples"),
        table,
    )


def _sheet(drawing: Drawing) -> Element:
    """A drawing that scrolls where the screen is too narrow to read it."""
    return tag("div", drawing.svg, class_="sheet", tabindex=0, role="group", aria_label=f"Figure: {drawing.title}")
