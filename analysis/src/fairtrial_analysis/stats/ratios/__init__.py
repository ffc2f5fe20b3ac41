"""Ratios between candidates, and what money and effort buy."""
