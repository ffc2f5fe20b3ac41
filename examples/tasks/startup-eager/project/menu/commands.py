"""The commands by name, all there from the start."""

from menu import days, host, total, words

COMMANDS = {"days": days.run, "host": host.run, "total": total.run, "words": words.run}


def run(name: str, arguments: list[str]) -> str:
    """Carry out one command; KeyError if there is none of that name."""
    return COMMANDS[name](arguments)
