"""Looks at a location that is put once, and at nothing else."""

from stockroom.api import _item


def test_location():
    assert _item("h-1", b'{"name": "Hinge", "quantity": 1, "location": "aisle 4"}').location == "aisle 4"
