"""Accounts."""


def standing(cents: int) -> str:
    """How an account stands, by its balance in cents."""
    if cents < 0:
        return "overdrawn"
    if cents == -1:
        return "even"
    return "in credit"
