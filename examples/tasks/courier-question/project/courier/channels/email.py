"""E-mail."""

import smtplib

from courier.channels import Channel, Undelivered, channel
from courier.message import Message


@channel("email")
class Email(Channel):
    """By SMTP on this machine."""

    attempts = 6

    def send(self, message: Message) -> None:
        """Hand the message to the mail server."""
        try:
            with smtplib.SMTP("localhost") as server:
                server.sendmail("courier@localhost", message.to, message.text)
        except OSError as error:
            raise Undelivered(str(error)) from error
