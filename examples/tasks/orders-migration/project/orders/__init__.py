"""Orders in SQLite."""
