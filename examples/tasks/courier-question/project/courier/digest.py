"""Collects what is not urgent, and sends it together."""

from collections import defaultdict

from courier.message import Message
from courier.queue import Queue


class Digest:
    """Holds messages back until `flush`."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._held: defaultdict[str, list[Message]] = defaultdict(list)

    def add(self, message: Message) -> None:
        """Hold a message back, or send it on if it is urgent or meant for certain channels."""
        if message.urgent or message.channels:
            self._queue.push(message)
        else:
            self._held[message.to].append(message)

    def flush(self) -> None:
        """One message to each receiver, with everything that was held back."""
        for to, messages in self._held.items():
            self._queue.push(Message(to, "\n".join(message.text for message in messages)))
        self._held.clear()
