"""`make demo COHORT=paired`: an example cohort, sealed and carried out, and what became of everything it scheduled.

As a pilot: a confirmatory cohort names the image of its analysis, and there is none to name yet.
"""

import time
from typing import Any

import yaml
from rich.table import Table

from examples import render
from examples.demo.install import ROOT
from fairtrial.cli.kubectl import Kubectl
from local_cluster.progress import say

COHORTS = ROOT / "examples" / "cohorts"
KIND = "benchmarkcohorts.fairtrial.dev"


def cohort_of(images: dict[str, str], kubectl: Kubectl, name: str) -> dict[str, Any]:
    """An example cohort as a pilot that is sealed at once, with the digests of the tasks that were pushed."""
    file = COHORTS / f"{name}.yaml"
    if not file.exists():
        known = ", ".join(sorted(path.stem for path in COHORTS.glob("*.yaml")))
        raise SystemExit(f"error: no cohort {name!r} in examples/cohorts; there are {known}.")
    tasks = render.digests_of(kubectl.get("benchmarktasks.fairtrial.dev")["items"])
    (cohort,) = render.render_file(file, {**images, "analysis": images["python"]}, tasks)
    del cohort["spec"]["analysis"], cohort["spec"]["decisionRule"]
    cohort["spec"] |= {"stage": "pilot", "seal": True}
    return cohort


def carried_out(kubectl: Kubectl, cohort: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
    """Apply a cohort and tell its progress until it is complete; the cohort as it is then."""
    name, told = cohort["metadata"]["name"], ""
    kubectl.apply(yaml.safe_dump(cohort))
    deadline = time.monotonic() + timeout_seconds
    while True:
        live: dict[str, Any] = kubectl.get(KIND, name)
        status = live.get("status", {})
        if any(one["type"] == "Complete" and one["status"] == "True" for one in status.get("conditions", [])):
            return live
        if time.monotonic() > deadline:
            raise SystemExit(
                f"error: {name} is not complete after {timeout_seconds:.0f} s: {status.get('message', '')}"
            )
        if (now := f"{status.get('progress', 'not sealed yet')} {status.get('eta', '')}".strip()) != told:
            told = now
            say(f"  {name}: {told}")
        time.sleep(2)


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
