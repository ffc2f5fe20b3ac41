"""Messages that wait."""

from collections import deque

from courier.message import Message


class Queue:
    """First in, first out."""

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()

    def push(self, message: Message) -> None:
        """Add a message."""
        self._waiting.append(message)

    def pop(self) -> Message | None:
        """Take the next one."""
        return self._waiting.popleft() if self._waiting else None
