"""How commands write: colour and progress on a terminal, plain wide lines anywhere else."""

from rich.console import Console

PLAIN_WIDTH = 200


def console() -> Console:
    """The console of one command. A table that is read by a program or a log is not folded to 80 columns."""
    found = Console()
    return found if found.is_terminal else Console(width=PLAIN_WIDTH)
