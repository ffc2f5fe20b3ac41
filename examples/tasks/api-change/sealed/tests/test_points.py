"""Points, and what is computed with them."""

import pytest
from geo import Point, distance, nearest, route_length


def test_distance():
    assert distance(Point(0.0, 0.0), Point(3.0, 4.0)) == 5.0
    assert distance(Point(-1.0, 2.0), Point(-1.0, 2.0)) == 0.0


def test_point_is_a_value():
    assert Point(1.0, 2.0) == Point(1.0, 2.0)
    assert Point(1.0, 2.0) != Point(2.0, 1.0)
    assert len({Point(1.0, 2.0), Point(1.0, 2.0)}) == 1


def test_point_cannot_change():
    point = Point(1.0, 2.0)
    with pytest.raises(AttributeError):
        point.x = 3.0


def test_route_length():
    assert route_length([Point(0.0, 0.0), Point(3.0, 4.0), Point(3.0, 14.0)]) == 15.0
    assert route_length([Point(1.0, 1.0)]) == 0
    assert route_length([]) == 0


def test_nearest():
    assert nearest(Point(0.0, 0.0), [Point(5.0, 5.0), Point(1.0, 1.0), Point(-9.0, 0.0)]) == Point(1.0, 1.0)


def test_nearest_of_nothing():
    with pytest.raises(ValueError):
        nearest(Point(0.0, 0.0), [])
