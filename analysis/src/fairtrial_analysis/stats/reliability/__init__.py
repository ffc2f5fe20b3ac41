"""What repeated attempts at one task say."""
