"""Rates, their intervals, and differences between two rates."""
