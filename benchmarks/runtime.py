"""The self-contained runtime: how large it is, how long it takes to start, against the machine's own Python."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = 15
PACKAGES = Path(__file__).parents[1] / "runner_image" / "src" / "fairtrial_runner"
SYSTEM_PYTHON = "/usr/bin/python3"


def measure() -> dict[str, Any]:
    """Size in MB (10^6 bytes of content); medians over ROUNDS in milliseconds, the two starts taken in turns."""
    python = SYSTEM_PYTHON if Path(SYSTEM_PYTHON).exists() else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "runtime")
        env = {"PYTHONPATH": str(PACKAGES.parents[2] / "src"), "PATH": os.environ["PATH"]}
        subprocess.run([python, "-m", "fairtrial.runtime", str(target), str(PACKAGES)], check=True, env=env)
        size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file() and not file.is_symlink())
        library = target / "lib"
        own = [str(library / "ld-linux-x86-64.so.2"), "--library-path", str(library), str(target / "bin" / "python3")]
        ours, theirs, launch = [], [], []
        for _ in range(ROUNDS):
            ours.append(_start([*own, "-IBc", "pass"]))
            theirs.append(_start([python, "-IBSc", "pass"]))
            launch.append(_start([*own, "-IBc", "import fairtrial_runner.launch"]))
    return {
        "sizeMB": round(size / 1e6, 1),
        "startMs": round(statistics.median(ours), 1),
        "startOfSystemPythonMs": round(statistics.median(theirs), 1),
        "startRatio": round(statistics.median(ours) / statistics.median(theirs), 2),
        "startAndImportLaunchMs": round(statistics.median(launch), 1),
        "rounds": ROUNDS,
    }


def _start(argv: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, env={})
    return (time.perf_counter() - began) * 1000
