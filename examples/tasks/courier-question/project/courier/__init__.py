"""Takes messages, and delivers them."""
