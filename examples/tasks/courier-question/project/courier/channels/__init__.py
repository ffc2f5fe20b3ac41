"""Ways to reach people. A module of this package registers its channel when it is imported."""

from collections.abc import Callable

from courier.message import Message


class Undelivered(Exception):
    """This attempt came to nothing."""


class Channel:
    """A way to reach people. `attempts` is how often the channel would like to be tried."""

    attempts: int | None = None

    def send(self, message: Message) -> None:
        """Try once; Undelivered if that comes to nothing."""
        raise NotImplementedError


CHANNELS: dict[str, type[Channel]] = {}


def channel(name: str) -> Callable[[type[Channel]], type[Channel]]:
    """Register a class under a name."""

    def register(kind: type[Channel]) -> type[Channel]:
        CHANNELS[name] = kind
        return kind

    return register
