"""Keeping secrets out of what is stored: redaction of named fields, and a scan of what was written. Pure."""
