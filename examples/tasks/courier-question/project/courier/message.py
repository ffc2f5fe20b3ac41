"""What is delivered."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Message:
    """A text for somebody. `channels` are those it is meant for; none means that the router chooses."""

    to: str
    text: str
    urgent: bool = False
    channels: tuple[str, ...] = ()

    def on(self, *channels: str) -> "Message":
        """The same message for these channels."""
        return replace(self, channels=channels)
