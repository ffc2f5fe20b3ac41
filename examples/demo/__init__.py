"""From nothing to records: the example tasks and runs on a real cluster."""
