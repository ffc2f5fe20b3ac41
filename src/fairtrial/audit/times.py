"""When something was there at the latest: by the ledger, which is the operator's clock, and by authorities' stamps.

A stamp of a checkpoint is one of every entry before it, and of what those entries name by hash. A key that a trust list
limits in time is judged by these; nobody's own clock speaks for a key of theirs that was revoked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from fairtrial.attest.trust import CHECKPOINT, TrustedKey
from fairtrial.audit.ledger import Entry, Ledger


@dataclass(frozen=True)
class Known:
    """By when something was there; None where that clock tells nothing."""

    told: datetime | None = None  # by the ledger
    stamped: datetime | None = None  # by an authority

    @property
    def earliest(self) -> datetime | None:
        """By either."""
        return min((one for one in (self.told, self.stamped) if one is not None), default=None)


NOWHERE = Known()


@dataclass(frozen=True)
class Times:
    """The clocks of one package. `stamps`: by size of the ledger, when an authority saw its signed root."""

    ledger: Ledger
    stamps: Mapping[int, datetime]
    sealed: datetime | None = None  # when an authority saw the preregistration

    def of(self, entry: Entry | None) -> Known:
        """Of what an entry names."""
        return NOWHERE if entry is None else self.of_size(entry.number)

    def of_size(self, size: int) -> Known:
        """Of the ledger's first `size` entries."""
        entries = self.ledger.entries
        told = _time(entries[size - 1].at) if 0 < size <= len(entries) else None
        return Known(told, min((at for held, at in self.stamps.items() if held >= size), default=None))

    def of_preregistration(self) -> Known:
        """Of the preregistration, which may have a stamp of its own."""
        known = self.of(self.ledger.once.get("sealed"))
        return Known(known.told, min((one for one in (known.stamped, self.sealed) if one), default=None))


def outside(key: TrustedKey, known: Known) -> Iterator[str]:
    """Why a key was not to be trusted when it signed."""
    at = known.earliest
    if key.valid_from and at is not None and at < key.valid_from:
        yield f"Signed by {_text(at)}; your list trusts that key from {_text(key.valid_from)} on."
    if key.revoked_from is None:
        return
    before = known.stamped if key.role in CHECKPOINT else at
    if before is None or before >= key.revoked_from:
        shows = "Nothing shows when it was signed" if before is None else f"Known to be signed by {_text(before)}"
        yield f"{shows}; your list trusts that key until {_text(key.revoked_from)}."


def _text(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None
