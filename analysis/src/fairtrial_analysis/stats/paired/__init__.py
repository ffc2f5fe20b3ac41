"""Comparisons inside blocks and tasks, and their tests."""
