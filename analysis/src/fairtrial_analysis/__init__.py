"""The analysis job reads immutable records only."""
