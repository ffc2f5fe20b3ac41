"""Finds given secrets in a stream, in whatever common encoding and however it is cut. Pure, standard library only.

The stream is undone into views (percent, JSON, base64, hex, and these within JSON or percent), and each view is
searched for what the secret looks like there. Time is linear, memory bounded. A finding names the secret and never
shows it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairtrial.errors import InvalidInput
from fairtrial.secrets import encodings

SECRET_MIN = 8  # what is shorter is found everywhere
PIECE = 64 * 1024

# encoding → the view that it is undone from, how, and the views in which the same would be found without undoing it
_VIEWS: dict[str, tuple[str, encodings.Undo, tuple[str, ...]]] = {
    "plain": ("", encodings.nothing, ()),
    "percent": ("plain", encodings.percent, ("plain",)),
    "json": ("plain", encodings.json, ("plain",)),
    "json in json": ("json", encodings.json, ("plain", "json")),
    "percent in percent": ("percent", encodings.percent, ("plain", "percent")),
    "percent in json": ("json", encodings.percent, ("plain", "percent", "json")),
    "base64": ("plain", encodings.base64_text, ()),
    "base64 in percent": ("percent", encodings.base64_text, ("base64",)),
    "base64 in json": ("json", encodings.base64_text, ("base64",)),
    "base64 in json in json": ("json in json", encodings.base64_text, ("base64", "base64 in json")),
    "hex": ("plain", encodings.hex_text, ()),
    "hex in json": ("json", encodings.hex_text, ("hex",)),
}


@dataclass(frozen=True)
class Finding:
    """The first place where a secret stands in an encoding; `offset` is that of the byte after it."""

    name: str
    encoding: str
    offset: int


class Scanner:
    """Scans one stream for the secrets, given as name → bytes."""

    def __init__(self, secrets: Mapping[str, bytes], piece: int = PIECE) -> None:
        for name, secret in secrets.items():
            if len(secret) < SECRET_MIN:
                raise InvalidInput(
                    f"secret {name!r}: holds {len(secret)} bytes; fewer than {SECRET_MIN} cannot be told from chance.",
                    next_move="Use a longer secret.",
                )
        self._views = {encoding: _View(encoding, secrets) for encoding in _VIEWS}
        self._found: dict[tuple[str, str], Finding] = {}
        self._size = piece
        self._waiting = bytearray()  # small chunks make one piece
        self._offset = 0  # of the next piece

    @property
    def findings(self) -> list[Finding]:
        """All so far, by offset."""
        return sorted(self._found.values(), key=lambda each: (each.offset, each.name, each.encoding))

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; they are scanned in larger pieces, the last at the end."""
        for start in range(0, len(chunk), self._size):
            self._waiting += chunk[start : start + self._size]
            if len(self._waiting) >= self._size:
                self._piece(bytes(self._waiting))
                self._waiting.clear()

    def finish(self) -> list[Finding]:
        """Scan what was held back, and tell all findings."""
        self._piece(bytes(self._waiting))
        self._waiting.clear()
        self._piece(b"", last=True)
        return self.findings

    def _piece(self, piece: bytes, *, last: bool = False) -> None:
        before = {encoding: view.state() for encoding, view in self._views.items()}
        new = self._advance(piece, last=last)
        if new:
            after = {encoding: view.state() for encoding, view in self._views.items()}
            for key in new:
                end = self._offset + self._end(before, piece, key)
                self._found[key] = Finding(key[0], key[1], end)
            for encoding, view in self._views.items():
                view.restore(after[encoding])
        self._offset += len(piece)

    def _advance(self, piece: bytes, *, last: bool = False) -> list[tuple[str, str]]:
        """Take the piece into every view; which secrets are now seen in an encoding that was new for them."""
        outputs: dict[str, bytes] = {"": piece}
        new = []
        for encoding, (source, _, same) in _VIEWS.items():
            view = self._views[encoding]
            outputs[encoding] = view.take(outputs[source], last=last)
            for name, times in view.seen.items():
                known = max((self._views[other].seen[name] for other in same), default=0)
                if times > known and (name, encoding) not in self._found:
                    new.append((name, encoding))
        return new

    def _end(self, before: "dict[str, _State]", piece: bytes, key: tuple[str, str]) -> int:
        """The length of the shortest part of the piece that shows the finding, by bisection."""
        low, high = 0, len(piece)
        while low < high:
            middle = (low + high) // 2
            for encoding, view in self._views.items():
                view.restore(before[encoding])
            if key in self._advance(piece[:middle]):
                high = middle
            else:
                low = middle + 1
        return low


_State = tuple[bytes, bytes, dict[str, int]]


class _View:
    """The stream as it is with one encoding undone. No dataclass: what it holds must not be printed."""

    def __init__(self, encoding: str, secrets: Mapping[str, bytes]) -> None:
        self._undo = _VIEWS[encoding][1]
        self._patterns = {name: _patterns(encoding, secret) for name, secret in secrets.items()}
        longest = max((len(each) for patterns in self._patterns.values() for each in patterns), default=1)
        self._overlap = longest - 1
        self._held = b""  # what could not be undone yet
        self._tail = b""  # the end of what was searched: a secret may go on
        self.seen = dict.fromkeys(secrets, 0)

    def take(self, data: bytes, *, last: bool = False) -> bytes:
        """Undo and search the next bytes; returns them undone."""
        undone, self._held = self._undo(self._held + data)
        if last:
            undone, self._held = undone + self._held, b""
        if undone:
            window = self._tail + undone
            for name, patterns in self._patterns.items():
                self.seen[name] += sum(self._count(window, each) for each in patterns)
            self._tail = window[max(0, len(window) - self._overlap) :]
        return undone

    def _count(self, window: bytes, pattern: bytes) -> int:
        """How often the pattern ends in what is new."""
        return window.count(pattern, max(0, len(self._tail) - len(pattern) + 1))

    def state(self) -> _State:
        """What changes as the stream goes on."""
        return self._held, self._tail, dict(self.seen)

    def restore(self, state: _State) -> None:
        """Go back to an earlier state."""
        self._held, self._tail, seen = state
        self.seen = dict(seen)


def _patterns(encoding: str, secret: bytes) -> list[bytes]:
    """What the secret looks like in a view."""
    if encoding.startswith("base64"):
        return encodings.base64_cores(secret)
    if encoding.startswith("hex"):
        return [secret.hex().encode()]
    spaced = [secret.replace(b" ", b"+")] if b" " in secret and "percent" in encoding else []
    return [secret, *spaced]


def scan(chunks: Iterable[bytes], secrets: Mapping[str, bytes]) -> list[Finding]:
    """Every secret in every encoding in which the chunks hold it."""
    scanner = Scanner(secrets)
    for chunk in chunks:
        scanner.feed(chunk)
    return scanner.finish()
