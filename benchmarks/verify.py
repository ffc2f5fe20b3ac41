"""How fast a package is verified: large files against `sha256sum` on the same files, and time per run of a cohort.

The files are those of a real small package, with one artifact made large; both sides read them from the page cache.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MIB = 1024 * 1024
LARGE = 256 * MIB
ROUNDS = 3


def measure() -> dict[str, Any]:
    """Rates in MiB/s, median of some rounds that take turns, and their ratio; and milliseconds for a run's record."""
    from fairtrial.audit.verify import verify
    from tests.unit.audit.world import TRUST, good, written

    with tempfile.TemporaryDirectory() as folder:
        package = written(good(), Path(folder, "package"))
        small = _median([_seconds(lambda: verify(package, TRUST)) for _ in range(ROUNDS)])
        _grow(package)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(_seconds(lambda: _sha256sum(package)))
            ours.append(_seconds(lambda: verify(package, TRUST)))
        runs = len(verify(package, TRUST).findings.found)
        shutil.rmtree(package)
    assert runs  # the large file is not the one that was recorded: it is hashed, and told
    rates = {"verify": LARGE / MIB / _median(ours), "sha256sum": LARGE / MIB / _median(theirs)}
    return {
        "bytes": LARGE,
        "mibPerSecond": {name: round(rate) for name, rate in rates.items()},
        "ratio": round(rates["verify"] / rates["sha256sum"], 2),
        "secondsWithoutTheLargeFile": round(small, 3),
        "millisecondsPerRunOfASmallCohort": round(1000 * small / 21, 1),
    }


def _grow(package: Path) -> None:
    """One artifact of 256 MiB; its bytes are not compressible and not all alike."""
    block = bytes(range(256)) * 4096
    artifact = next(package.glob("data/runs/*/artifacts/agent/snapshot.tar"))
    with artifact.open("wb") as file:
        for number in range(LARGE // len(block)):
            file.write(number.to_bytes(8, "big") + block[8:])


def _sha256sum(package: Path) -> None:
    files = [str(path) for path in package.rglob("*") if path.is_file()]
    subprocess.run(["sha256sum", *files], check=True, stdout=subprocess.DEVNULL)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _median(times: list[float]) -> float:
    return statistics.median(times)
