"""Orders come back, and old files are brought up to date."""

import sqlite3

from orders.database import open_database
from orders.migrations import m0001


def test_an_order_comes_back(tmp_path):
    orders = open_database(str(tmp_path / "orders.db"))
    order = orders.get(orders.add("Ada", 20, ("h-1", "h-2"), note="soon"))
    assert (order.customer, order.skus, order.note) == ("Ada", ("h-1", "h-2"), "soon")
    orders.close()


def test_a_file_of_schema_1_is_brought_up_to_date(tmp_path):
    old = sqlite3.connect(tmp_path / "orders.db")
    m0001.apply(old)
    old.execute("PRAGMA user_version = 1")
    old.execute("INSERT INTO orders (id, customer, amount) VALUES (7, 'Ada', 20)")
    old.commit()
    old.close()
    orders = open_database(str(tmp_path / "orders.db"))
    assert orders.get(7).note == ""
    orders.close()
