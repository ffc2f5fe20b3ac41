"""Where messages come in."""

from collections.abc import Callable

from courier.message import Message


class Intake:
    """Takes messages that make sense. `accept` is what becomes of them."""

    def __init__(self, accept: Callable[[Message], None]) -> None:
        self._accept = accept

    def take(self, message: Message) -> bool:
        """Take a message; whether it was accepted."""
        if not message.to or not message.text:
            return False
        self._accept(message)
        return True
