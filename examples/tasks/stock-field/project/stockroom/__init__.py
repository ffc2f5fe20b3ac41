"""What is in the stockroom."""
