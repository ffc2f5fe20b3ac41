"""Orders are looked for by customer, and have a note."""

import sqlite3


def apply(connection: sqlite3.Connection) -> None:
    """Add the column and the index."""
    connection.execute("ALTER TABLE orders ADD COLUMN note TEXT NOT NULL DEFAULT ''")
    connection.execute("CREATE INDEX orders_by_customer ON orders (customer)")
