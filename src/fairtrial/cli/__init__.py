"""The `fairtrial` command: what people do that kubectl cannot."""
