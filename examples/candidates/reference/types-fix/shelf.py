"""All articles in stock."""

from collections.abc import Iterable
from decimal import Decimal

from stock.items import Item


class Shelf:
    """Articles by name."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items = {item.name: item for item in items}

    def find(self, name: str) -> Item | None:
        """The article of that name, if there is one."""
        return self.items.get(name)

    def take(self, name: str, count: int) -> int:
        """Take some of an article; how many are left."""
        item = self.find(name)
        if item is None:
            raise KeyError(name)
        if item.quantity < count:
            raise ValueError(f"only {item.quantity} of {name}")
        item.quantity -= count
        return item.quantity

    def total_value(self) -> Decimal:
        """What everything in stock is worth."""
        return sum((item.quantity * item.price for item in self.items.values()), Decimal(0))
