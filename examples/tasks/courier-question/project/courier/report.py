"""Counts what happened."""

from collections import Counter

from courier.message import Message


class Report:
    """How many messages each channel delivered."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._routes: dict[str, str] = {}

    def delivered(self, message: Message, channel: str) -> None:
        """Count a message."""
        self._counts[channel] += 1
        self._routes[message.to] = channel

    def route(self, to: str) -> str:
        """The channel that somebody was reached on last."""
        return self._routes.get(to, "")

    def push(self) -> str:
        """The counts, for the monitoring system."""
        return "\n".join(f"courier_delivered{{channel={name!r}}} {count}" for name, count in sorted(self._counts.items()))
