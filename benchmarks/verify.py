"""How fast a package is verified: a large file and a large cohort, each against `sha256sum` on the same files.

The large file is an artifact of a real small package. The cohort is a real one too: planned, recorded, signed, analysed
and listed by our own code; each of its agents wrote one large file, all the same. Both sides take turns, and read from
the page cache.
`python -m benchmarks.verify measure RUNS BYTES` measures a cohort of another size alone.
"""

import json
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
ROUNDS, ROUNDS_OF_A_COHORT = 3, 2
TASKS = 10
COHORTS = ((100, 5_000_000), (1_000, 5_000_000), (10_000, 5_000_000))  # runs, and bytes that each agent wrote
GOAL = 0.7  # of sha256sum's rate


def measure() -> dict[str, Any]:
    """Rates and their ratios; seconds and memory of a cohort's verification."""
    return _large_file() | {"cohorts": [_cohort(*each) for each in COHORTS], "goalRatio": GOAL}


# --- a large file -----------------------------------------------------------------------------------------------------
def _large_file() -> dict[str, Any]:
    """Rates in MiB/s, median of some rounds that take turns; and milliseconds for a run's record."""
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
        assert verify(package, TRUST).findings.found  # it is not the one that was recorded: it is hashed, and told
        shutil.rmtree(package)
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


# --- a large cohort ---------------------------------------------------------------------------------------------------
def _cohort(runs: int, output: int) -> dict[str, Any]:
    """A whole package, in which nothing may be found; each verification is a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        package, trusted = Path(folder, "package"), Path(folder, "trust.json")
        _write(package, trusted, (runs, output))
        command = [sys.executable, "-m", "benchmarks.verify", "one", str(package), str(trusted)]
        _sha256sum(package)  # into the page cache
        ours, theirs = [], []
        for _ in range(ROUNDS_OF_A_COHORT):
            theirs.append(_seconds(lambda: _sha256sum(package)))
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            ours.append(json.loads(done.stdout.splitlines()[-1]))
    seconds, sums = _median([one["seconds"] for one in ours]), _median(theirs)
    assert not any(one["findings"] for one in ours), ours
    return {
        **{name: ours[0][name] for name in ("runs", "files", "bytes", "verdict")},
        "seconds": {"verify": round(seconds, 1), "sha256sum": round(sums, 1)},
        "cpuSeconds": round(_median([one["cpuSeconds"] for one in ours]), 1),
        "ratio": round(sums / seconds, 2),
        "peakMB": max(one["peakMB"] for one in ours),
    }


def _write(package: Path, trusted: Path, size: tuple[int, int]) -> None:
    """The package of a good cohort. All agents wrote the same bytes: each run has a file of its own of them."""
    from tests.unit.audit import world

    names = [f"task-{number}" for number in range(1, TASKS + 1)]
    public = {name: f"public archive of {name}".encode() for name in names}
    tasks = [
        {"name": name, "publicSha256": world.sha(data), "sealedSha256": world.sha(name.encode()), "category": "any"}
        for name, data in public.items()
    ]
    runs, output = size[0], bytes(range(256)) * (size[1] // 256)
    came = world.happened(world.cohort(tasks=tasks, repetitions=runs // TASKS // 2), lambda _: output)
    came.blobs |= {f"tasks/sha256/{world.sha(data)}": data for data in public.values()}
    files = world.evidence(came)
    # The analysis reads no artifacts, so it is not given any.
    files |= world.analysed({path: data for path, data in files.items() if "/artifacts/agent/" not in path})
    files["commitments.json"] = world.papers.commitments(came.preregistration)
    files["trust.json"] = came.trust
    _written(world.listed(came, {f"data/{path}": data for path, data in files.items()}), package, output)
    trusted.write_bytes(came.trust)


def _written(files: dict[str, bytes], package: Path, output: bytes) -> None:
    """Write a package. What all agents wrote is one file under many names: it is read as often as there are names, and
    50 GB of copies would be read from the disk instead of the page cache.
    """
    from tests.unit.audit import world

    same = [path for path, data in files.items() if data is output]
    world.written({path: data for path, data in files.items() if data is not output}, package)
    for path in same:
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        if path == same[0]:
            (package / path).write_bytes(output)
        else:
            (package / path).hardlink_to(package / same[0])


def _one(package: str, trusted: str) -> dict[str, Any]:
    """One verification, in this process."""
    from benchmarks.memory import peak_mb
    from fairtrial.audit.verify import load_trust, verify
    from fairtrial.process.garbage import collect_seldom

    collect_seldom()  # as the program does
    began, used = time.perf_counter(), time.process_time()
    result = verify(Path(package), load_trust(Path(trusted)))
    return {
        "seconds": time.perf_counter() - began,
        "cpuSeconds": time.process_time() - used,
        "peakMB": peak_mb(),
        "findings": [str(one) for one in list(result.findings)[:5]],
        "runs": result.runs,
        "files": result.files,
        "bytes": result.size,
        "verdict": result.verdict,
    }


# --- both -------------------------------------------------------------------------------------------------------------
def _sha256sum(package: Path) -> None:
    """As many files at a time as a command line takes."""
    found = subprocess.run(["find", str(package), "-type", "f", "-print0"], check=True, stdout=subprocess.PIPE)
    subprocess.run(["xargs", "-0", "sha256sum"], check=True, input=found.stdout, stdout=subprocess.DEVNULL)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _median(times: list[float]) -> float:
    return statistics.median(times)


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        print(json.dumps(_cohort(int(sys.argv[2]), int(sys.argv[3])), indent=2))
    else:
        print(json.dumps(_one(*sys.argv[2:4])))
