"""How wide text will be, without a font at hand. Pure.

Fonts differ between readers, so widths are generous estimates: a label is shortened before it could run into a mark.
The whole of it stands in the table below a figure.
"""

import unicodedata

from fairtrial_analysis.html.markup import shown

_NARROW = frozenset("iljtf.,:;|!'()[]- ")
_WIDE = frozenset("mwMW@%")
_AVERAGE, _SLIM, _BROAD, _FULL = 0.6, 0.36, 0.92, 1.1  # of the font's size; measured on DejaVu Sans, a broad face


def width(text: str, size: float = 12) -> float:
    """The width of a line, in the unit of `size`."""
    return size * sum(map(_of, text))


def fitted(text: str, room: float, size: float = 12) -> str:
    """The text, or its beginning and end around an ellipsis if there is no room for all of it."""
    text = shown(text)
    if width(text, size) <= room:
        return text
    for kept in range(len(text) - 1, 1, -1):
        short = f"{text[: kept - kept // 3]}…{text[len(text) - kept // 3 :]}"
        if width(short, size) <= room:
            return short
    return "…"


def _of(character: str) -> float:
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return _FULL
    if character in _NARROW:
        return _SLIM
    return _BROAD if character in _WIDE else _AVERAGE
