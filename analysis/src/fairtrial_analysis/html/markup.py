"""A tree of elements, and its text. Whatever reaches the page goes through here, so nothing reaches it unescaped. Pure.

Names of tasks and candidates, reasons and file names were written by people who may wish to be read as something else:
besides the characters of markup, those that nobody sees (control characters, and what turns the direction of writing)
are shown by their code.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from html import escape

_EMPTY = frozenset({"meta", "link", "br", "hr", "col"})
_DRAWN = frozenset({"path", "line", "rect", "polyline", "use"})
_READABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_INVISIBLE = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])
_KEPT = frozenset("\n\t\N{SOFT HYPHEN}\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}")


@dataclass(frozen=True)
class Element:
    """One element, with its attributes in the order in which they are written."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: "tuple[Element | str, ...]" = ()

    def __str__(self) -> str:
        text: list[str] = []
        _write(self, text)
        return "".join(text)


def tag(name: str, /, *children: "Element | str | None", **attributes: str | int | None) -> Element:
    """An element. `class_` is class, `aria_label` aria-label; None leaves an attribute or a child out."""
    kept = tuple((_attribute(key), str(value)) for key, value in attributes.items() if value is not None)
    return Element(name, kept, tuple(child for child in children if child is not None and child != ""))


def group(children: "Iterable[Element | str | None]") -> Element:
    """Several elements side by side, with nothing around them."""
    return tag("", *children)


def shown(text: str) -> str:
    """Text whose invisible characters are shown: U+202E becomes `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(each):04X}⟩" if _invisible(each) else each for each in text)


def identifier(kind: str, *names: str) -> str:
    """An id made of what it names, the same in every rendering: readable if the names are, a digest of them if not.

    No readable name holds what stands between names here, so that different names have different ids.
    """
    if all(_READABLE.fullmatch(name) for name in names):
        return "_".join((kind, *names))
    return f"{kind}_~{sha256(chr(0).join(names).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def name_of(text: str, **attributes: str | int | None) -> Element:
    """A name that somebody else gave: it keeps its own direction of writing to itself."""
    return tag("bdi", text, **attributes)


def _invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE and character not in _KEPT


def _raw(text: str) -> str:
    """A style sheet, in which nothing is escaped; it is ours, and must not end its element."""
    if "</" in text or "<!--" in text:
        raise ValueError("a style sheet must not hold markup")
    return text


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("__", ":").replace("_", "-")


def _write(element: Element, text: list[str]) -> None:
    if element.name:
        attributes = "".join(f' {key}="{escape(shown(value), quote=True)}"' for key, value in element.attributes)
        if element.name in _DRAWN and not element.children:
            text.append(f"<{element.name}{attributes}/>")
            return
        text.append(f"<{element.name}{attributes}>")
        if element.name in _EMPTY:
            return
    for child in element.children:
        if not isinstance(child, str):
            _write(child, text)
        else:
            text.append(_raw(child) if element.name == "style" else escape(shown(child), quote=False))
    if element.name:
        text.append(f"</{element.name}>")
