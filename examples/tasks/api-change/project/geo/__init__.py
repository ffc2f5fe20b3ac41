"""Distances in the plane."""

from geo.plane import distance
from geo.route import nearest, route_length

__all__ = ["distance", "nearest", "route_length"]
