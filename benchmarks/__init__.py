"""Measured claims. Each compares two things side by side in one run and reports ratios; none is a test."""
