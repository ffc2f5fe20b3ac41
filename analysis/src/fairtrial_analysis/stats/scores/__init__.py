"""Scores that single protocols define."""
