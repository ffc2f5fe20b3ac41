"""How much memory a program held."""

from pathlib import Path

MB = 1_000_000


def peak_mb() -> int:
    """The most memory that this program held: of its own, which `ru_maxrss` mixes with what started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / MB)
