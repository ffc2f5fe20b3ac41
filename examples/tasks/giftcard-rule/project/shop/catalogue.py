"""Products, and carts of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Product:
    """Something that can be bought."""

    sku: str
    price: int
    kind: Literal["goods", "service", "giftcard"] = "goods"


@dataclass(frozen=True)
class Line:
    """So many of one product."""

    product: Product
    count: int = 1

    @property
    def total(self) -> int:
        """What the line costs."""
        return self.product.price * self.count


Cart = tuple[Line, ...]


def total(lines: Iterable[Line]) -> int:
    """What lines cost together."""
    return sum(line.total for line in lines)
