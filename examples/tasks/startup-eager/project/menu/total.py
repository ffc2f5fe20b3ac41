"""`total AMOUNT…`: their sum, to the last digit."""

from decimal import Decimal


def run(arguments: list[str]) -> str:
    return str(sum((Decimal(one) for one in arguments), Decimal(0)))
