"""What happened, for whoever wants to know."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any


class Bus:
    """Calls everybody who subscribed to a topic, in order."""

    def __init__(self) -> None:
        self._subscribers: defaultdict[str, list[Callable[..., Any]]] = defaultdict(list)

    def subscribe(self, topic: str, subscriber: Callable[..., Any]) -> None:
        """Call `subscriber` whenever something of this topic happens."""
        self._subscribers[topic].append(subscriber)

    def tell(self, topic: str, *about: Any) -> None:
        """Tell what happened."""
        for subscriber in self._subscribers[topic]:
            subscriber(*about)
