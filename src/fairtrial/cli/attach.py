"""`fairtrial attach`: the two documents that lie beside a cohort's evidence, under the digest that a gate fixed."""

import hashlib
from pathlib import Path
from typing import Any

from fairtrial import documents
from fairtrial.cli.book import LIMIT, Book, book_of
from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import ATTACHED


def run(name: str, file: Path, namespace: str, context: str | None) -> str:
    """Store the document of a cohort on a cluster; where it lies, and its digest."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: can't be read: {error}.") from error
    return attach(book_of(name, namespace, context), file.name, data)


def attach(book: Book, name: str, data: bytes) -> str:
    """Store it, if it is what the sealed spec named; InvalidInput otherwise."""
    if name not in ATTACHED:
        raise InvalidInput(f"{name}: must be one of {', '.join(ATTACHED)}.")
    sealed: dict[str, Any] = documents.load(dict[str, Any], book.store.get(book.keys.preregistration(), limit=LIMIT))
    named = {
        one["sha256"]
        for gate in sealed["spec"].get("gates", ())
        for one in gate.get("evidence", ())
        if one["uri"].rsplit("/", 1)[-1] == name
    }
    actual = hashlib.sha256(data).hexdigest()
    if actual not in named:
        wanted = f"names {', '.join(sorted(named))}" if named else "names none of this name"
        raise InvalidInput(
            f"{name}: has SHA-256 {actual}, but the sealed cohort {wanted}.",
            next_move="Name it among the evidence of a gate before sealing; a sealed cohort stays as it is.",
        )
    book.store.put(book.keys.attached(name), data, media_type="application/json")
    return f"{book.keys.attached(name)} sha256:{actual}"
