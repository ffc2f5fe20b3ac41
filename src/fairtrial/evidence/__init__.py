"""Where evidence lies, what a record says, and the only S3 calls of the repository."""
