"""`make bench`: every measurement, its results as JSON and as a page beside the script that made them."""

import argparse
import importlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import local_cluster

RESULTS = Path(__file__).parent / "results"
MEASUREMENTS = (
    "runtime", "store_calls", "upload", "run_latency", "model_calls", "analysis", "verdicts", "package", "verify",
)  # fmt: skip


def main() -> None:
    """Run the named measurements, or all."""
    cluster = local_cluster.current()
    if cluster is not None:  # where the store and the API server are
        os.environ.update(cluster.environment())
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", default=MEASUREMENTS, help=f"some of {', '.join(MEASUREMENTS)}")
    RESULTS.mkdir(exist_ok=True)
    for name in parser.parse_args().names:
        print(f"== {name}", flush=True)
        module = importlib.import_module(f"benchmarks.{name}")
        measured = module.measure()
        document = {"measured": measured, "machine": machine(), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
        print(json.dumps(measured, indent=2), flush=True)
        if write_page := getattr(module, "write_page", None):
            write_page()


def machine() -> dict[str, str | int]:
    """What the numbers were measured on, as far as it matters for comparing them."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    memory = Path("/proc/meminfo").read_text().splitlines()[0].split()[1]
    return {
        "cpu": model,
        "cores": sum(line.startswith("processor") for line in lines),
        "memoryMiB": int(memory) // 1024,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
