"""Notes in workspaces."""
