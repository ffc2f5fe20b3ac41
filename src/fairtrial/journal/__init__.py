"""The journal of model calls: what was said, byte for byte, when, and what it came to. Standard library only.

`frames` is the file format, `exchange` the documents inside its frames, `summary` the one page about an exchange.
"""
