"""Distances in the plane."""

from geo.plane import Point, distance
from geo.route import nearest, route_length

__all__ = ["Point", "distance", "nearest", "route_length"]
