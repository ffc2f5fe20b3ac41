"""Shows where a message would go."""

from courier.message import Message
from courier.router import route as channels_of


def preview(message: Message) -> str:
    """The channels of a message, for people."""
    return " → ".join(channels_of(message))
