"""in-toto Statement v1: which content, by digest, something is said about, and what. Code: STATEMENT_INVALID."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from fairtrial.attest import canonical
from fairtrial.errors import Unproven

TYPE = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
PREREGISTRATION = "https://fairtrial.dev/attestation/preregistration/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
PACKAGE = "https://fairtrial.dev/attestation/package/v1"
RELEASE = "https://fairtrial.dev/attestation/release/v1"
SIZE_MAX = 32 * 1024 * 1024
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Subject:
    """Content that a statement is about: a file's name and its SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Statement:
    """What is signed."""

    subjects: tuple[Subject, ...]
    predicate_type: str
    predicate: dict[str, Any]

    @classmethod
    def of(cls, subjects: Iterable[tuple[str, str]], predicate_type: str, predicate: dict[str, Any]) -> "Statement":
        """A statement about (name, SHA-256) pairs."""
        return cls(tuple(Subject(name, digest) for name, digest in subjects), predicate_type, predicate)

    @property
    def digests(self) -> dict[str, str]:
        """The subjects' digests by name."""
        return {one.name: one.sha256 for one in self.subjects}

    def to_bytes(self) -> bytes:
        """The canonical bytes, which are the payload of an envelope."""
        return canonical.to_bytes(
            {
                "_type": TYPE,
                "subject": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in self.subjects],
                "predicateType": self.predicate_type,
                "predicate": self.predicate,
            }
        )


def parse(payload: bytes, *, name: str = "statement") -> Statement:
    """Read a statement; a link, which has the same payload type, is none."""
    raw = canonical.load(payload, name=name, size_max=SIZE_MAX)
    if not isinstance(raw, dict) or raw.get("_type") != TYPE:
        _refuse(name, f"is not an {TYPE}")
    if set(raw) != {"_type", "subject", "predicateType", "predicate"}:
        _refuse(name, f"has the fields {', '.join(sorted(raw))}")
    if not isinstance(raw["predicateType"], str) or not isinstance(raw["predicate"], dict):
        _refuse(name, "has a predicate that is not an object with a type")
    if not isinstance(raw["subject"], list) or not raw["subject"]:
        _refuse(name, "has no subject")
    subjects = tuple(_subject(one, name) for one in raw["subject"])
    if len({one.name for one in subjects}) != len(subjects):
        _refuse(name, "names a subject twice")
    return Statement(subjects, raw["predicateType"], raw["predicate"])


def _subject(raw: Any, name: str) -> Subject:
    if not isinstance(raw, dict) or set(raw) != {"name", "digest"} or not isinstance(raw["name"], str):
        _refuse(name, "has a subject without name or digest")
    digest = raw["digest"]
    if not isinstance(digest, dict) or set(digest) != {"sha256"}:
        _refuse(name, f"names subject {raw['name'][:80]!r} by something else than one SHA-256")
    if not isinstance(digest["sha256"], str) or not _DIGEST.fullmatch(digest["sha256"]):
        _refuse(name, f"names subject {raw['name'][:80]!r} by what is not a SHA-256")
    return Subject(raw["name"], digest["sha256"])


def _refuse(name: str, why: str) -> NoReturn:
    raise Unproven("STATEMENT_INVALID", f"{name} {why}.")
