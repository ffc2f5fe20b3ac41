"""A whole courier with a channel that works."""

from courier.channels import CHANNELS, Channel
from courier.main import build
from courier.message import Message


def test_a_message_is_delivered(monkeypatch):
    sent = []

    class Working(Channel):
        def send(self, message):
            sent.append(message.text)

    courier = build()
    monkeypatch.setitem(CHANNELS, "email", Working)
    assert courier.intake.take(Message("ada@example.org", "hello"))
    courier.digest.flush()
    assert courier.worker.step()
    assert sent == ["hello"]
