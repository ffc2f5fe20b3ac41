"""One line of the stock list."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass
class Item:
    """An article, how many there are, and what one costs."""

    name: str
    quantity: int
    price: Decimal


def read_line(line: str) -> Item:
    """Read `name; quantity; price`."""
    name, quantity, price = (part.strip() for part in line.split(";"))
    return Item(name, int(quantity), Decimal(price))
