"""The items, in one SQLite file."""

import sqlite3
from dataclasses import dataclass

TABLE = """
CREATE TABLE IF NOT EXISTS items (
    sku TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    location TEXT NOT NULL
)
"""


@dataclass(frozen=True)
class Item:
    """So many of one thing."""

    sku: str
    name: str
    quantity: int
    location: str = ""


class Storage:
    """All items. Whatever `save` has returned from is on disk."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute(TABLE)

    def save(self, item: Item) -> bool:
        """Store an item; whether it is new."""
        is_new = self.find(item.sku) is None
        with self._database:
            self._database.execute(
                "INSERT INTO items (sku, name, quantity, location) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (sku) DO UPDATE"
                " SET name = excluded.name, quantity = excluded.quantity, location = excluded.location",
                (item.sku, item.name, item.quantity, item.location),
            )
        return is_new

    def find(self, sku: str) -> Item | None:
        """The item with this SKU."""
        row = self._database.execute(
            "SELECT sku, name, quantity, '' FROM items WHERE sku = ?", (sku,)
        ).fetchone()
        return Item(*row) if row else None

    def all(self) -> list[Item]:
        """All items, by SKU."""
        rows = self._database.execute("SELECT sku, name, quantity, '' FROM items ORDER BY sku")
        return [Item(*row) for row in rows]

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
