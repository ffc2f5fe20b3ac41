"""The task format: folders that authors write, archives that runs use."""
