"""Text messages."""

from courier.channels import Channel, Undelivered, channel
from courier.message import Message

MAX_ATTEMPTS = 4  # the provider's limit per hour and number


@channel("sms")
class Sms(Channel):
    """By the provider's gateway."""

    attempts = MAX_ATTEMPTS

    def send(self, message: Message) -> None:
        """Hand the message to the gateway."""
        raise Undelivered("no gateway is configured")
