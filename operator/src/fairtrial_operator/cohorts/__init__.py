"""Cohorts: seal the plan, carry out its runs in order, keep the ledger, and account for every one of them."""
