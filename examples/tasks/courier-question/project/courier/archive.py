"""Keeps what was delivered, and can deliver it once more."""

from courier.message import Message
from courier.queue import Queue


class Archive:
    """Everything that was delivered."""

    def __init__(self, queue: Queue) -> None:
        self._push = queue.push
        self._delivered: list[Message] = []

    def delivered(self, message: Message, channel: str) -> None:
        """Keep a message."""
        self._delivered.append(message.on(channel))

    def resend(self, index: int) -> None:
        """Deliver a kept message once more."""
        self._push(self._delivered[index])
