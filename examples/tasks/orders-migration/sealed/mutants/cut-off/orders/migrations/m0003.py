"""Amounts are whole cents."""

import sqlite3
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from orders.errors import MigrationError


def apply(connection: sqlite3.Connection) -> None:
    """Convert each amount, then replace the column."""
    connection.execute("ALTER TABLE orders ADD COLUMN cents INTEGER NOT NULL DEFAULT 0")
    for order_id, amount in connection.execute("SELECT id, amount FROM orders").fetchall():
        connection.execute("UPDATE orders SET cents = ? WHERE id = ?", (_cents(order_id, amount), order_id))
    connection.execute("ALTER TABLE orders DROP COLUMN amount")


def _cents(order_id: int, amount: object) -> int:
    if amount is None:
        return 0
    try:
        return int(float(amount) * 100)
    except (InvalidOperation, ValueError, OverflowError):
        raise MigrationError(f"order {order_id} has an amount that is no number: {amount!r}", order_id) from None
