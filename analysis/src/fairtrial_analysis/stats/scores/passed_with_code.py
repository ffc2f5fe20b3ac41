"""Tickets that passed, and those that passed with code of their own. Exact counts.

Reference: the frozen-binary protocol. A ticket that failed has not passed with code, whatever it wrote.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PassedWithCode:
    """A ticket that failed has not passed with code, whatever it wrote."""

    tickets: int
    passed: int
    with_code: int


def passed_with_code(tickets: Iterable[tuple[bool, bool]]) -> PassedWithCode:
    """From (passed, wrote code)."""
    everything = list(tickets)
    return PassedWithCode(
        len(everything), sum(passed for passed, _ in everything), sum(passed and code for passed, code in everything)
    )
