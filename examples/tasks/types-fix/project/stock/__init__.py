"""A warehouse's stock list."""

from stock.items import Item, read_line
from stock.shelf import Shelf

__all__ = ["Item", "Shelf", "read_line"]
