"""What became of everything that was scheduled: an identity that must hold, or evidence is missing. Exact.

Reference: the CONSORT flow. Scheduled + replacements = valid + invalid + void + cancelled + not run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Accounting:
    """Counts of one arm, or of all; invalid ones by reason code."""

    scheduled: int
    replacements: int
    valid: int
    invalid: Mapping[str, int] = field(default_factory=dict)
    void: int = 0
    cancelled: int = 0
    not_run: int = 0

    @property
    def invalid_total(self) -> int:
        """Invalid runs of every reason."""
        return sum(self.invalid.values())

    @property
    def attempted(self) -> int:
        """Runs that were begun."""
        return self.valid + self.invalid_total + self.void + self.cancelled

    @property
    def balanced(self) -> bool:
        """Whether both sides of the identity agree; if not, that is an integrity error."""
        return self.scheduled + self.replacements == self.attempted + self.not_run
