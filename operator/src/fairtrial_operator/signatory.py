"""What the operator signs and has stamped, where it was given a key. It never makes one: nobody would trust it.

Everything is kept under a key of its own before what depends on it is written, and found again after a crash.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial import documents
from fairtrial.attest import note
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import Statement
from fairtrial.errors import InvalidInput, SigningFailed
from fairtrial.evidence import statements
from fairtrial.evidence.layout import CohortLayout, RunLayout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.signing import keys as signing_keys
from fairtrial.signing import storing, timestamps
from fairtrial.signing.keys import SigningKey

SHOWN_DIGITS = 12
NO_KEY = "unsigned: the operator has no signing key"


@dataclass(frozen=True)
class Signatory:
    """The operator's key and time-stamp authority, either of which may be none."""

    key: SigningKey | None = None
    timestamp_url: str = ""

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "Signatory":
        """As the operator's Deployment says; SigningFailed where the key can't be used."""
        url = env.get(timestamps.URL_VARIABLE, "")
        if url and not url.startswith(("http://", "https://")):
            raise InvalidInput(f"{timestamps.URL_VARIABLE} is {url!r}.", next_move="Give an http or https URL.")
        key = signing_keys.from_environment(env)
        if url and key is None:
            raise InvalidInput(
                f"{timestamps.URL_VARIABLE} is set, but no signing key.",
                next_move=f"Set {signing_keys.KEY_VARIABLE} too: what nobody signed is not worth a time-stamp.",
            )
        return cls(key, url)

    @property
    def signs(self) -> bool:
        """Whether there is a key."""
        return self.key is not None

    def __str__(self) -> str:
        if self.key is None:
            return NO_KEY
        kind = "development key" if self.key.development else "key"
        return f"signed with {kind} {self.key.key_id[:SHOWN_DIGITS]}…"

    def seal(self, store: ObjectStore, keys: CohortLayout, data: bytes) -> None:
        """Sign a stored preregistration, and have it stamped; both before the cohort has a run."""
        if self.key is None:
            return
        held = documents.load(dict[str, Any], data, name="preregistration")
        storing.keep_statement(
            store, keys.preregistration_signature(), statements.preregistration(data, held), self.key
        )
        if self.timestamp_url:
            storing.keep_timestamp(store, keys.preregistration_timestamp(), data, self.timestamp_url)

    def record(self, store: ObjectStore, keys: RunLayout, statement: Statement) -> None:
        """Sign a record that is about to be stored."""
        if self.key is not None:
            storing.keep_statement(store, keys.record_statement(), statement, self.key)

    def checkpoint(self, store: ObjectStore, keys: CohortLayout, what: Checkpoint) -> str:
        """Sign the root of a ledger's first entries; what went wrong with its stamp, which stops nothing.

        The checkpoints after it are stamped too, and a later time-stamp covers every earlier entry.
        """
        if self.key is None:
            return ""
        data = storing.keep_checkpoint(store, keys.checkpoint(what.size), what, self.key)
        if self.timestamp_url:
            try:
                storing.keep_timestamp(store, keys.checkpoint_timestamp(what.size), data, self.timestamp_url)
            except SigningFailed as error:
                return str(error)
        return ""


def checkpoint(namespace: str, cohort: str, uid: str, size: int, root: bytes) -> Checkpoint:
    """A cohort's checkpoint, under the name of its log."""
    return Checkpoint(note.origin(namespace, cohort, uid), size, root)
