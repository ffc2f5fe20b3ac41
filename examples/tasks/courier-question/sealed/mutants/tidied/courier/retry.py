"""How often something is tried."""

from courier import settings


def attempts(channel: str, preferred: int | None = None) -> int:
    """How often a message is tried on a channel: as the installation says, else as the channel prefers."""
    return settings.ATTEMPTS.get(channel, preferred or settings.ATTEMPTS["default"])
