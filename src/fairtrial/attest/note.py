"""Signed notes and checkpoints of a log, as C2SP's `signed-note` and `tlog-checkpoint` define them.

A note's text ends in a newline; then an empty line, and a line for each signature: `— <key name> <base64 of key id and
signature>`. A checkpoint's text is the log's origin, the number of entries, and the base64 of the RFC 6962 root. The
key name is the origin, so that a key needs no second name. Codes: NOTE_INVALID, SIG_INVALID, SIG_UNTRUSTED_KEY.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from fairtrial.attest.publickey import PublicKey
from fairtrial.errors import Unproven

NOTE_MAX = 64 * 1024
SIGNATURES_MAX = 64
_DASH = "\u2014 "
_ED25519, _ROOT_BYTES, _ID_BYTES = b"\x01", 32, 4


@dataclass(frozen=True)
class NoteSignature:
    """One signature line."""

    name: str
    key_id: bytes  # four bytes; an identifier, not a proof
    signature: bytes


@dataclass(frozen=True)
class Note:
    """A note whose signatures were not checked yet. `text` ends in a newline."""

    text: str
    signatures: tuple[NoteSignature, ...]


@dataclass(frozen=True)
class Checkpoint:
    """What a log's owner says about its first `size` entries."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The text to sign."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def origin(namespace: str, cohort: str, uid: str) -> str:
    """The name of a cohort's ledger among all logs, and of the keys that sign its checkpoints."""
    return f"fairtrial.dev/{namespace}/{cohort}/{uid}"


def key_id(name: str, key: PublicKey) -> bytes:
    """The four bytes by which a signature line names its key: by its kind, as C2SP gives them."""
    if not key.deterministic:  # ECDSA: type 0x02
        return hashlib.sha256(key.der).digest()[:_ID_BYTES]
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + key.raw).digest()[:_ID_BYTES]


def line(name: str, key: PublicKey, signature: bytes) -> str:
    """A signature line."""
    if not name or "+" in name or any(letter.isspace() for letter in name):
        _refuse("key name", f"{name!r} must be without spaces and '+'")
    return f"{_DASH}{name} {base64.b64encode(key_id(name, key) + signature).decode()}\n"


def vkey(name: str, key: PublicKey) -> str:
    """An Ed25519 key as other tools for notes take it: name, key id, and the key."""
    return f"{name}+{key_id(name, key).hex()}+{base64.b64encode(_ED25519 + key.raw).decode()}"


def parse(data: bytes, *, name: str = "note") -> Note:
    """Take a note apart; nothing in it may be believed before `verify`."""
    if len(data) > NOTE_MAX:
        _refuse(name, f"has {len(data)} bytes; {NOTE_MAX} are allowed")
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unproven("NOTE_INVALID", f"{name} is not UTF-8.") from error
    if any(letter < " " and letter != "\n" for letter in whole):
        _refuse(name, "holds a control character")
    text, found, lines = whole.rpartition("\n\n")
    if not found or not lines.endswith("\n"):
        _refuse(name, "has no signature lines after an empty line")
    signatures = [_signature(one, name) for one in lines[:-1].split("\n")]
    if len(signatures) > SIGNATURES_MAX:
        _refuse(name, f"has {len(signatures)} signatures; {SIGNATURES_MAX} are allowed")
    return Note(text + "\n", tuple(signatures))


def verify(note: Note, keys: Iterable[PublicKey], *, key_name: str, name: str = "note") -> list[PublicKey]:
    """The given keys that signed the note under `key_name`: each once, at least one. Lines of other keys count nothing.

    A line that names one of the keys and does not verify spoils the note, whoever else signed it.
    """
    signed: dict[str, PublicKey] = {}
    for key in keys:
        for one in note.signatures:
            if (one.name, one.key_id) != (key_name, key_id(key_name, key)):
                continue
            if not key.verifies(one.signature, note.text.encode()):
                raise Unproven("SIG_INVALID", f"{name}: the signature of key {key.key_id} does not fit its text.")
            signed[key.key_id] = key
    if not signed:
        raise Unproven("SIG_UNTRUSTED_KEY", f"{name}: no trusted key signed it under the name {key_name}.")
    return list(signed.values())


def checkpoint(text: str, *, name: str = "checkpoint") -> Checkpoint:
    """The checkpoint in a note's text. Lines beyond the third are refused: none is written, so none is understood."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] or not lines[0]:  # noqa: PLR2004 - origin, size, root, and what follows the last "\n"
        _refuse(name, "is not three lines: origin, size, root")
    size = lines[1]
    if not (size.isascii() and size.isdecimal()) or len(size) > 18 or str(int(size)) != size:  # noqa: PLR2004
        _refuse(name, f"has the size {size[:20]!r}")
    root = _base64(lines[2], name)
    if len(root) != _ROOT_BYTES:
        _refuse(name, f"has a root of {len(root)} bytes")
    return Checkpoint(lines[0], int(size), root)


def _signature(text: str, name: str) -> NoteSignature:
    parts = text.removeprefix(_DASH).split(" ")
    if not text.startswith(_DASH) or len(parts) != 2 or not parts[0]:  # noqa: PLR2004 - key name and signature
        _refuse(name, f"has a bad signature line: {text[:60]!r}")
    value = _base64(parts[1], name)
    if len(value) <= _ID_BYTES:
        _refuse(name, f"has a signature of {len(value)} bytes")
    return NoteSignature(parts[0], value[:_ID_BYTES], value[_ID_BYTES:])


def _base64(text: str, name: str) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unproven("NOTE_INVALID", f"{name} has bad base64: {text[:60]!r}.") from error
    if base64.b64encode(value).decode() != text:  # unused bits that are not zero: a second spelling of the same bytes
        _refuse(name, f"has base64 that is not canonical: {text[:60]!r}")
    return value


def _refuse(name: str, why: str) -> NoReturn:
    raise Unproven("NOTE_INVALID", f"{name} {why}.")
