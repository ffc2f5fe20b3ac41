"""The evaluator: sealed checks on a snapshot, each in its own process, judged from outside."""
