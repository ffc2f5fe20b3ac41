"""A cohort's records to its report: time and memory for 100, 1,000 and 10,000 records, each in a process of its own.

Evidence is generated into a folder, as a fetched package lies, by `fairtrial_analysis.examples`; artifacts are not read
by the analysis, so there are none. Times are of the wall and of the processor: on a busy machine only the second says
much. Memory is the process's peak.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
SIZES = {100: (10, 5), 1000: (50, 10), 10000: (100, 50)}  # records: tasks and repetitions, by two arms


def measure() -> dict[str, Any]:
    """Seconds of each part and peak memory in MiB, by number of records; and how they grow."""
    found: dict[str, Any] = {}
    for records, (tasks, repetitions) in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            _generate(Path(folder), tasks, repetitions)
            done = subprocess.run([sys.executable, "-m", __name__, folder], capture_output=True, text=True, check=True)
        found[str(records)] = json.loads(done.stdout)
    least, most = found[str(min(SIZES))], found[str(max(SIZES))]
    grows = max(SIZES) / min(SIZES)
    return found | {
        "cpuPerRecordAgainstFewest": round(most["cpu"]["all"] / least["cpu"]["all"] / grows, 2),
        "peakMiBMore": most["peakMiB"] - least["peakMiB"],
    }


def _generate(folder: Path, tasks: int, repetitions: int) -> None:
    """The evidence of one cohort, as the data of a package."""
    from fairtrial_analysis.examples import example

    made = example(tasks=tasks, repetitions=repetitions)
    base = made.layout.cohort(*made.address).base + "/"
    for key, data in made.store.objects.items():
        run = key.partition("/runs/")[2].partition("/")[0]
        name = key.removeprefix(base) if key.startswith(base) else f"runs/{run}/record.json" if run else ""
        if name:
            path = folder / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def analyse(folder: Path) -> dict[str, Any]:
    """One analysis, timed part by part."""
    from fairtrial_analysis.load.results import load
    from fairtrial_analysis.load.source import FolderSource
    from fairtrial_analysis.report.canonical import to_bytes
    from fairtrial_analysis.report.compute import Made, compute
    from fairtrial_analysis.report.tables import runs_csv, runs_parquet

    cpu: dict[str, float] = {}
    wall: dict[str, float] = {}

    def timed(name: str, work: Callable[[], T]) -> T:
        began, used = time.perf_counter(), time.process_time()
        result = work()
        wall[name], cpu[name] = round(time.perf_counter() - began, 2), round(time.process_time() - used, 2)
        return result

    imported = _peak()
    loaded = timed("load", lambda: load(FolderSource(folder)))
    report = timed("compute", lambda: compute(loaded, Made("benchmark")))
    data = timed("json", lambda: to_bytes(report))
    timed("csv", lambda: runs_csv(report))
    timed("parquet", lambda: runs_parquet(report))
    cpu["all"], wall["all"] = round(sum(cpu.values()), 2), round(sum(wall.values()), 2)
    return {
        "records": len(loaded.ledger.records),
        "cpu": cpu,
        "wall": wall,
        "importedMiB": imported,
        "peakMiB": _peak(),
        "reportBytes": len(data),
    }


def _peak() -> int:
    """Of this program: what `getrusage` gives holds what the parent had when it forked, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024


if __name__ == "__main__":
    print(json.dumps(analyse(Path(sys.argv[1]))))
