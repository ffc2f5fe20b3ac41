"""The commands by name, each imported when it is first asked for."""

from importlib import import_module

NAMES = frozenset({"days", "host", "total", "words"})


def run(name: str, arguments: list[str]) -> str:
    """Carry out one command; KeyError if there is none of that name."""
    if name not in NAMES:
        raise KeyError(name)
    answer: str = import_module(f"menu.{name}").run(arguments)
    return answer
