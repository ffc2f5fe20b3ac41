"""Subscriptions that are due once a month."""
