"""What becomes of a message that a channel has given up on."""

from collections.abc import Callable

from courier import settings
from courier.message import Message


class Fallback:
    """Sends a message another way, where the installation names one."""

    def __init__(self, again: Callable[[Message], None]) -> None:
        self._again = again

    def given_up(self, message: Message, channel: str) -> None:
        """Try the next channel, unless the message is meant for that one anyhow."""
        following = settings.FALLBACK.get(channel)
        if following and following not in message.channels:
            self._again(message.on(following))
