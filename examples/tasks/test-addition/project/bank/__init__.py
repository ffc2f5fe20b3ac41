"""Accounts of a small bank."""
