"""Amounts are whole cents."""

import sqlite3
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from orders.errors import MigrationError


def apply(connection: sqlite3.Connection) -> None:
    """Convert each amount, then replace the column."""
    rows = connection.execute("SELECT id, customer, amount, note FROM orders").fetchall()
    connection.execute(
        "CREATE TABLE new (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, cents INTEGER NOT NULL, note TEXT NOT NULL)"
    )
    for order_id, customer, amount, note in rows:
        row = (order_id, customer, _cents(order_id, amount), note)
        connection.execute("INSERT INTO new (id, customer, cents, note) VALUES (?, ?, ?, ?)", row)
    connection.execute("DROP TABLE orders")
    connection.execute("ALTER TABLE new RENAME TO orders")


def _cents(order_id: int, amount: object) -> int:
    if amount is None:
        return 0
    try:
        number = Decimal(str(amount))
        return int((number * 100).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
    except (InvalidOperation, ValueError, OverflowError):
        raise MigrationError(f"order {order_id} has an amount that is no number: {amount!r}", order_id) from None
