"""Accounts."""

_WORDS = ("even", "in credit", "overdrawn")


def standing(cents: int) -> str:
    """How an account stands, by its balance in cents."""
    return _WORDS[(cents > 0) - (cents < 0)]
