"""What became of every scheduled run and every field."""
