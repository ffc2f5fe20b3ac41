"""Tables: a caption, headings with their scope, numbers at the right, and a frame that scrolls by keyboard. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.markup import Element, group, identifier, tag

Cell = Element | str | None
Kind = Literal["text", "number", "head", "wide", "mid"]
_SHORT = 14  # rows that are kept together on a printed page
_CLASSES: dict[str, str | None] = {"number": "n", "wide": "wide", "mid": "mid"}


@dataclass(frozen=True)
class Column:
    """A heading and what stands below it; `head` cells name their row."""

    title: Cell
    kind: Kind = "text"


@dataclass(frozen=True)
class Row:
    """Cells in the order of the columns, with an id and a class if it has them."""

    cells: Sequence[Cell]
    id: str | None = None
    class_: str | None = None


@dataclass(frozen=True)
class Group:
    """Rows that belong together under a heading, with an anchor of their own."""

    id: str
    title: Cell
    rows: Sequence[Row]


Listed = Row | Group | Sequence[Cell]


def table(
    name: str,
    caption: Cell,
    columns: Sequence[Column],
    rows: Iterable[Listed],
    *,
    note: Cell = None,
) -> Element:
    """A table; without rows it is a sentence that says so."""
    listed = list(rows)
    if not listed:
        return tag("p", tag("b", caption), ": none.", class_="note", id=name)
    caption_id = identifier("caption", name)
    head = tag("tr", *(tag("th", column.title, scope="col", class_=_class(column)) for column in columns))
    return tag(
        "div",
        tag(
            "table",
            tag("caption", tag("span", caption, tag("span", note, class_="note") if note else None), id=caption_id),
            tag("thead", head),
            *_bodies(listed, columns),
            id=name,
        ),
        class_="scroll short" if len(listed) <= _SHORT else "scroll",
        tabindex=0,
        role="region",
        aria_labelledby=caption_id,
    )


def folded(summary: str, *content: Element) -> Element:
    """Content that is shown when asked for, and always printed."""
    return tag("details", tag("summary", summary), *content)


def table_of_figure(count: int, content: Element) -> Element:
    """The table of a figure: open while it is short."""
    return content if count <= 12 else folded(f"Data table, {count} rows", content)  # noqa: PLR2004 - a screen's worth


def _bodies(rows: list[Listed], columns: Sequence[Column]) -> Iterable[Element]:
    loose: list[Element] = []
    for row in rows:
        if isinstance(row, Group):
            if loose:
                yield tag("tbody", *loose)
                loose = []
            title = tag("tr", tag("th", row.title, scope="rowgroup", colspan=len(columns), class_="rows"))
            yield tag("tbody", title, *(_row(each, columns) for each in row.rows), id=row.id)
        else:
            loose.append(_row(row if isinstance(row, Row) else Row(row), columns))
    if loose:
        yield tag("tbody", *loose)


def _row(row: Row, columns: Sequence[Column]) -> Element:
    cells = [
        tag("th", cell, scope="row")
        if column.kind == "head"
        else tag("td", cell or numbers.NO_VALUE, class_=_class(column))
        for cell, column in zip(row.cells, columns, strict=True)
    ]
    return tag("tr", *cells, id=row.id, class_=row.class_)


def _class(column: Column) -> str | None:
    return _CLASSES.get(column.kind)


def lines(parts: Iterable[Cell]) -> Element:
    """Parts of one cell below each other."""
    listed = [part for part in parts if part is not None]
    return group(each for number, part in enumerate(listed) for each in ((tag("br"), part) if number else (part,)))
