"""What else the machine is doing, read once: its load and its temperatures, where it shows them to a container.

Protocol 0 asks for background load and thermal state where times are compared. Both are the whole node's, and neither
is a reason to leave a run out: they are there to be looked at.
"""

from pathlib import Path
from typing import Any

from fairtrial.process.consumption import text_of

_PROC, _THERMAL = Path("/proc"), Path("/sys/class/thermal")
_ZONES_MAX = 32


def state(proc: Path = _PROC, thermal: Path = _THERMAL) -> dict[str, Any]:
    """The load averages of 1, 5 and 15 minutes as the kernel writes them; temperatures in millidegrees by zone.

    None, or no zone, is what this container cannot see.
    """
    words = text_of(proc / "loadavg").split()[:3]
    return {"loadAverage": " ".join(words) if len(words) == 3 else None, "temperatures": _zones(thermal)}  # noqa: PLR2004


def _zones(folder: Path) -> dict[str, int]:
    found = {}
    try:
        zones = sorted(folder.glob("thermal_zone*"))[:_ZONES_MAX]
    except OSError:
        return {}
    for zone in zones:
        kind, value = text_of(zone / "type"), text_of(zone / "temp")
        if value.lstrip("-").isdecimal() and value.isascii():
            found[f"{zone.name} {kind}"[:80]] = int(value)
    return found
