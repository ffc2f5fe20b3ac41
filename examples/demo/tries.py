"""`make try`: a first taste without a cluster, through the very code that runs in pods."""

import shutil
import tempfile
from pathlib import Path

import yaml

from examples import render
from examples.demo.install import ROOT
from fairtrial.cli import try_run
from local_cluster.progress import say

RUNS = ("reference-parse-defect", "noop-parse-defect", "wrong-node-feature")
NO_DIGEST = "sha256:" + "0" * 64  # no image is used locally, but a run names one by digest all the same


def run() -> None:
    """Try a correct, an idle and a plausible but wrong candidate."""
    images = {name: f"localhost/fairtrial/{name}@{NO_DIGEST}" for name in ("python", "node", "busybox")}
    for name in RUNS:
        if "node" in name and not shutil.which("node"):
            say(f"  {name}: left out, since there is no node on this machine's PATH")
            continue
        (wanted,) = render.render_file(ROOT / "examples" / "runs" / f"{name}.yaml", images)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "run.yaml")
            file.write_text(yaml.safe_dump(wanted))
            task = ROOT / "examples" / "tasks" / wanted["spec"]["taskRef"]["name"].rpartition("-v")[0]
            try_run.run(file, task, None)
    say("\nThe same runs on a real cluster, isolated and recorded: make demo")
