"""Several claims at once, and ranks."""
