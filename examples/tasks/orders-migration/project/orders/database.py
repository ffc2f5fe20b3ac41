"""The file, and what is in it."""

import sqlite3
from dataclasses import dataclass

from orders.migrations import MIGRATIONS


class MigrationError(Exception):
    """A file can't be brought up to date; it is as it was."""

    def __init__(self, message: str, order_id: int | None = None) -> None:
        super().__init__(message)
        self.order_id = order_id


@dataclass(frozen=True)
class Order:
    """What somebody ordered."""

    id: int
    customer: str
    amount: float
    note: str
    skus: tuple[str, ...]


def open_database(path: str) -> "Orders":
    """The orders in a file, brought up to date; MigrationError if that is impossible."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        connection.close()
        raise MigrationError(f"{path} has schema {version}; this program knows {len(MIGRATIONS)}")
    for number, apply in enumerate(MIGRATIONS[version:], version + 1):
        apply(connection)
        connection.execute(f"PRAGMA user_version = {number}")
    return Orders(connection)


class Orders:
    """All orders of a file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, customer: str, amount: float, skus: tuple[str, ...], note: str = "") -> int:
        """Add an order; its ID."""
        row = self._connection.execute(
            "INSERT INTO orders (customer, amount, note) VALUES (?, ?, ?)", (customer, amount, note)
        )
        self._connection.executemany("INSERT INTO items (order_id, sku) VALUES (?, ?)", [(row.lastrowid, s) for s in skus])
        return int(row.lastrowid or 0)

    def get(self, order_id: int) -> Order:
        """One order; KeyError if there is none."""
        row = self._connection.execute("SELECT id, customer, amount, note FROM orders WHERE id = ?", (order_id,)).fetchone()
        if row is None:
            raise KeyError(order_id)
        skus = self._connection.execute("SELECT sku FROM items WHERE order_id = ? ORDER BY id", (order_id,)).fetchall()
        return Order(*row, tuple(sku for (sku,) in skus))

    def total(self, customer: str) -> float:
        """What a customer's orders come to."""
        (found,) = self._connection.execute("SELECT SUM(amount) FROM orders WHERE customer = ?", (customer,)).fetchone()
        return found or 0.0

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
