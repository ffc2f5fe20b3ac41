"""Medians, quantiles, distributions and spread."""
