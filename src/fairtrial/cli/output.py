"""How commands write: colour and progress on a terminal, plain wide lines anywhere else."""

from rich.console import Console
from rich.text import Text

from fairtrial.archive import printable

PLAIN_WIDTH = 200


def console() -> Console:
    """The console of one command. A table that is read by a program or a log is not folded to 80 columns."""
    found = Console()
    return found if found.is_terminal else Console(width=PLAIN_WIDTH)


def plain(text: str) -> Text:
    """Text of somebody else's: no markup in it is obeyed, and no control character reaches the terminal."""
    return Text(printable(text))
