"""Listen to the recorder while the agent runs: its silence is normal, its end is not."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from fairtrial.channel import Channel
from fairtrial.errors import ChannelBroken


class Answers:
    """Receives in a thread; calls `on_lost` once the other side is gone."""

    def __init__(self, channel: Channel, on_lost: Callable[[], None]) -> None:
        self._channel, self._on_lost = channel, on_lost
        self._queue: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def expect(self, kind: str, timeout: float) -> dict[str, Any]:
        """Wait for a message of this type; ChannelBroken if it never comes."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                message = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise ChannelBroken(f"The recorder did not say {kind!r} within {timeout:.0f} s.") from None
            if message is None:
                raise ChannelBroken(f"The recorder was gone before it said {kind!r}.")
            if message.get("type") == kind:
                return message

    def _listen(self) -> None:
        try:
            while (message := self._channel.receive()) is not None:
                if isinstance(message, dict):
                    self._queue.put(message)
        except ChannelBroken:
            pass
        self._queue.put(None)
        self._on_lost()
