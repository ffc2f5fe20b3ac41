"""Globs over paths in a tree: `*` and `?` stay inside one folder, `**` crosses folders; pure.

A pattern without a slash matches the last name at any depth; one that ends in a slash matches all below that folder.

    match = matcher(["**/__pycache__/**", "*.pyc", "build/"])
    match("src/__pycache__/a.pyc")
"""

import re
from collections.abc import Callable, Iterable


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A test whether a path matches any of the patterns."""
    parts = [_expression(pattern) for pattern in patterns]
    compiled = re.compile("|".join(f"(?:{part})" for part in parts) or r"(?!)", re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None


def _expression(pattern: str) -> str:
    if pattern.endswith("/"):
        pattern += "**"
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    pieces = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", pattern.removeprefix("/"))
    meaning = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(meaning.get(piece) or re.escape(piece) for piece in pieces)
