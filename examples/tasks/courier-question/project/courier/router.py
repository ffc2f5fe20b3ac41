"""Which channels a message goes to."""

from courier.message import Message


def route(message: Message) -> tuple[str, ...]:
    """The channels of a message, in order."""
    if message.channels:
        return message.channels
    return ("sms", "email") if message.urgent else ("email",)
