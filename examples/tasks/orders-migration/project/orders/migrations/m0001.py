"""Orders and their items."""

import sqlite3


def apply(connection: sqlite3.Connection) -> None:
    """Make the tables."""
    connection.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount REAL)"
    )
    connection.execute(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE,"
        " sku TEXT NOT NULL)"
    )
