"""Webhooks."""

import urllib.request

from courier.channels import Channel, Undelivered, channel
from courier.message import Message


@channel("webhook")
class Webhook(Channel):
    """A POST to the receiver's address."""

    attempts = 5

    def send(self, message: Message) -> None:
        """Post the text."""
        try:
            urllib.request.urlopen(message.to, message.text.encode(), timeout=5).close()
        except (OSError, ValueError) as error:
            raise Undelivered(str(error)) from error
