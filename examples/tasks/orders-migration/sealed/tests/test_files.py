"""Files of every schema that there was, opened by the program as it is now."""

import hashlib
import sqlite3

import pytest
from orders.database import MigrationError, open_database

SCHEMA_1 = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount REAL);
CREATE TABLE items (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
 sku TEXT NOT NULL);
PRAGMA user_version = 1;
"""
SCHEMA_2 = SCHEMA_1 + """
ALTER TABLE orders ADD COLUMN note TEXT NOT NULL DEFAULT '';
CREATE INDEX orders_by_customer ON orders (customer);
PRAGMA user_version = 2;
"""
AMOUNTS = {3: 19.99, 4: 0.29, 8: 1.15, 15: 1e6, 16: None, 23: "12.50", 42: -4.35, 99: 0}
CENTS = {3: 1999, 4: 29, 8: 115, 15: 100000000, 16: 0, 23: 1250, 42: -435, 99: 0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "orders.db"


def file(path, schema, amounts):
    old = sqlite3.connect(path)
    old.executescript(schema.replace("amount REAL", "amount"))  # as old programs did, any value is kept as it comes
    for number, amount in amounts.items():
        old.execute("INSERT INTO orders (id, customer, amount) VALUES (?, ?, ?)", (number, f"c{number % 2}", amount))
        old.execute("INSERT INTO items (order_id, sku) VALUES (?, ?)", (number, f"sku-{number}"))
    old.commit()
    old.close()


def asked(path, question):
    connection = sqlite3.connect(path)
    found = connection.execute(question).fetchall()
    connection.close()
    return found


def all_of(path):
    connection = sqlite3.connect(path)
    text = "\n".join(connection.iterdump()) + str(connection.execute("PRAGMA user_version").fetchone())
    connection.close()
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("schema", [SCHEMA_1, SCHEMA_2], ids=["1", "2"])
def test_no_order_and_no_cent_is_lost(path, schema):
    file(path, schema, AMOUNTS)
    orders = open_database(str(path))
    found = {number: orders.get(number) for number in AMOUNTS}
    assert {number: order.cents for number, order in found.items()} == CENTS
    assert {type(order.cents) for order in found.values()} == {int}
    assert {number: order.skus for number, order in found.items()} == {n: (f"sku-{n}",) for n in AMOUNTS}
    assert orders.total("c0") == 29 + 115 + 0 - 435
    orders.close()


def test_the_schema_is_the_asked_one(path):
    file(path, SCHEMA_2, AMOUNTS)
    open_database(str(path)).close()
    columns = {name: (kind, required) for _, name, kind, required, *_ in asked(path, "PRAGMA table_info(orders)")}
    assert "amount" not in columns
    assert columns["cents"] == ("INTEGER", 1)
    assert asked(path, "PRAGMA user_version") == [(3,)]
    assert [row[2] for row in asked(path, "PRAGMA index_info(orders_by_customer)")] == ["customer"]
    assert asked(path, "PRAGMA foreign_key_check") == []
    assert [row[2] for row in asked(path, "PRAGMA foreign_key_list(items)")] == ["orders"]


@pytest.mark.parametrize("schema", [SCHEMA_1, SCHEMA_2], ids=["1", "2"])
def test_what_is_no_number_is_named_and_the_file_stays(path, schema):
    file(path, schema, {**AMOUNTS, 57: "about ten"})
    before = all_of(path)
    with pytest.raises(MigrationError) as caught:
        open_database(str(path))
    assert caught.value.order_id == 57
    assert all_of(path) == before


def test_opening_again_changes_nothing(path):
    file(path, SCHEMA_2, AMOUNTS)
    open_database(str(path)).close()
    before = all_of(path)
    open_database(str(path)).close()
    assert all_of(path) == before


def test_a_new_file(path):
    orders = open_database(str(path))
    number = orders.add("Ada", 1999, ("h-1", "h-2"), note="soon")
    orders.add("Ada", 1, ())
    order = orders.get(number)
    assert (order.customer, order.cents, order.note, order.skus) == ("Ada", 1999, "soon", ("h-1", "h-2"))
    assert (orders.total("Ada"), orders.total("Ben")) == (2000, 0)
    with pytest.raises(KeyError):
        orders.get(99)
    orders.close()


def test_a_file_of_the_future_is_refused(path):
    file(path, SCHEMA_2 + "PRAGMA user_version = 9;", {})
    with pytest.raises(MigrationError):
        open_database(str(path))
