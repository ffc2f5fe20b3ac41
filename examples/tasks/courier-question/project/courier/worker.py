"""Delivers what waits."""

from courier import router
from courier.channels import CHANNELS, Undelivered
from courier.events import Bus
from courier.message import Message
from courier.queue import Queue
from courier.retry import attempts


class Worker:
    """Takes messages from the queue and delivers them."""

    def __init__(self, queue: Queue, bus: Bus) -> None:
        self._queue = queue
        self._bus = bus

    def step(self) -> bool:
        """Deliver the next message; whether there was one."""
        message = self._queue.pop()
        if message is None:
            return False
        for name in router.route(message):
            if self._delivered(message, name):
                self._bus.tell("delivered", message, name)
                break
            self._bus.tell("given_up", message, name)
        return True

    def _delivered(self, message: Message, name: str) -> bool:
        channel = CHANNELS[name]()
        for _ in range(attempts(name, channel.attempts)):
            try:
                channel.send(message)
            except Undelivered:
                continue
            return True
        return False
