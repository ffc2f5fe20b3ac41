"""Sizes and limits of a design, before the first run."""
