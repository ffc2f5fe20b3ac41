"""`days FROM TO`: how many days lie between two dates."""

from datetime import date


def run(arguments: list[str]) -> str:
    first, last = (date.fromisoformat(one) for one in arguments)
    return str((last - first).days)
