"""What runs in an agent pod: `record` lays out and keeps what happened, `launch` runs the agent as PID 1."""
