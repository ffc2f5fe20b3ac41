"""From observed facts to an outcome: one table."""
