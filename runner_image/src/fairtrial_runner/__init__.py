"""What runs in an agent pod: `fetch` lays out, `launch` runs the agent as PID 1, `record` keeps what happened."""
