"""What the type errors point at."""

from decimal import Decimal

import pytest
from stock import Item, Shelf, read_line


@pytest.fixture
def shelf():
    return Shelf([Item("bolts", 12, Decimal("0.25")), Item("nuts", 3, Decimal("0.10"))])


def test_find(shelf):
    assert shelf.find("nuts") == Item("nuts", 3, Decimal("0.10"))
    assert shelf.find("washers") is None


def test_take(shelf):
    assert shelf.take("bolts", 5) == 7
    assert shelf.find("bolts").quantity == 7


def test_take_of_unknown_article(shelf):
    with pytest.raises(KeyError, match="washers"):
        shelf.take("washers", 1)


def test_take_too_many(shelf):
    with pytest.raises(ValueError):
        shelf.take("nuts", 4)
    assert shelf.find("nuts").quantity == 3


def test_read_line():
    item = read_line("bolts; 12; 0.25")
    assert (item.name, item.quantity, item.price) == ("bolts", 12, Decimal("0.25"))
    assert type(item.quantity) is int
    assert type(item.price) is Decimal


def test_total_value(shelf):
    assert shelf.total_value() == Decimal("3.30")


def test_total_value_of_nothing():
    assert Shelf().total_value() == 0
    assert type(Shelf().total_value()) is Decimal
