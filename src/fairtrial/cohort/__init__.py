"""Cohorts: from a question to a sealed schedule, and from records to an account of it. Pure; the operator acts."""
