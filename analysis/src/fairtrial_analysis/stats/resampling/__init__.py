"""Bootstrap: exact where it can be, seeded where it cannot."""
