"""`make demo COHORT=paired`: an example cohort sealed, carried out and analysed; its package fetched and verified."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from rich.table import Table

from examples import render
from examples.demo.install import ROOT
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cli.watch_cohorts import GIVEN_UP, KIND
from local_cluster.progress import say

COHORTS = ROOT / "examples" / "cohorts"


def cohort_of(images: dict[str, str], kubectl: Kubectl, name: str) -> dict[str, Any]:
    """An example cohort that is sealed at once, with the digests of the tasks that were pushed."""
    file = COHORTS / f"{name}.yaml"
    if not file.exists():
        known = ", ".join(sorted(path.stem for path in COHORTS.glob("*.yaml")))
        raise SystemExit(f"error: no cohort {name!r} in examples/cohorts; there are {known}.")
    tasks = render.digests_of(kubectl.get("benchmarktasks.fairtrial.dev")["items"])
    (cohort,) = render.render_file(file, images, tasks)
    cohort["spec"] |= {"seal": True}
    return cohort


def carried_out(kubectl: Kubectl, cohort: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
    """Apply a cohort and tell its progress until it is complete; the cohort as it is then."""
    kubectl.apply(yaml.safe_dump(cohort))

    def progress(status: dict[str, Any]) -> str:
        if condition(status, "Accepted").get("status") == "False":
            return str(condition(status, "Accepted")["message"])
        return f"{status.get('progress', 'not sealed yet')} {status.get('eta', '')}".strip()

    return _until(kubectl, cohort["metadata"]["name"], "Complete", progress, timeout_seconds)


def analysed(kubectl: Kubectl, name: str, timeout_seconds: float) -> dict[str, Any]:
    """Tell what the analysis does until the cohort has a package; the cohort as it is then."""

    def progress(status: dict[str, Any]) -> str:
        return str(condition(status, "Analysed").get("message", "")) or "to be analysed"

    return _until(kubectl, name, "Analysed", progress, timeout_seconds)


def _until(
    kubectl: Kubectl, name: str, wanted: str, progress: Callable[[dict[str, Any]], str], timeout_seconds: float
) -> dict[str, Any]:
    deadline, told = time.monotonic() + timeout_seconds, ""
    while True:
        live: dict[str, Any] = kubectl.get(KIND, name)
        status = live.get("status", {})
        found = condition(status, wanted)
        if found.get("status") == "True":
            return live
        now = progress(status)
        if found.get("reason") in GIVEN_UP or time.monotonic() > deadline:
            raise SystemExit(f"error: {name} is not {wanted.lower()}: {now}")
        if now != told:
            told = now
            say(f"  {name}: {told}")
        time.sleep(2)


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    """One condition of a status, {} if it has none of that type."""
    found: dict[str, Any] = next((one for one in status.get("conditions", []) if one["type"] == kind), {})
    return found


def audited(name: str, namespace: str, context: str | None, trust: Path | None) -> int:
    """Fetch the cohort's package, show its report, and verify it offline; the verifier's exit code.

    Without a trust list of ours, whoever's keys signed verifies it themselves.
    """
    where = ["--namespace", namespace, *(["--context", context] if context else [])]
    digest = Kubectl(context, namespace).get(KIND, name)["status"]["analysis"]["packageSha256"]
    folder = Path("evidence") / digest
    steps = [["fetch", name, *where], ["report", str(folder)]]
    steps += [["verify", str(folder), "--trust", str(trust.relative_to(ROOT))]] if trust else []
    return next((code for step in steps if (code := _fairtrial(step))), 0)


def measured(name: str, namespace: str, context: str | None) -> int:
    """Show what the measurement tasks of a cohort found; the command's exit code."""
    return _fairtrial(["measurements", name, "--namespace", namespace, *(["--context", context] if context else [])])


def _fairtrial(arguments: list[str]) -> int:
    say(f"  $ {' '.join(['fairtrial', *arguments])}")
    return subprocess.run(
        [str(Path(sys.executable).with_name("fairtrial")), *arguments], check=False, cwd=ROOT
    ).returncode


def accounted(cohort: dict[str, Any]) -> Table:
    """What became of everything that was scheduled."""
    status = cohort["status"]
    table = Table(title="What became of it", title_justify="left", box=None, pad_edge=False, show_header=False)
    for name, count in status["counts"].items():
        if count:
            table.add_row(name, str(count))
    table.add_row("blocks not comparable", str(status.get("blocksNotComparable", 0)))
    return table


def sealed_as(cohort: dict[str, Any]) -> str:
    """Where the preregistration lies, and its digest, which every record names."""
    status = cohort["status"]
    return f"Sealed as:\n  {status['preregistrationUri']}  sha256:{status['preregistrationSha256']}"
