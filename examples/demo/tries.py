"""`make try`: a first taste without a cluster, through the very code that runs in pods."""

import shutil
import tempfile
from pathlib import Path

import yaml

from examples import render
from examples.demo.install import ROOT
from fairtrial.cli import try_run
from local_cluster.progress import say

# A correct, an idle and a plausible but wrong candidate, and the exit code of `fairtrial try` that each must end with.
RUNS = {"reference-parse-defect": 0, "noop-parse-defect": 1, "wrong-node-feature": 1}
NO_DIGEST = "sha256:" + "0" * 64  # no image is used locally, but a run names one by digest all the same


def run() -> int:
    """Try each; 0 if every one ended as it must, 1 otherwise."""
    unexpected = [name for name, code in RUNS.items() if (left := _try(name)) is not None and left != code]
    say("\nThe same runs on a real cluster, isolated and recorded: make demo")
    if unexpected:
        say(f"Did not end as expected on this machine: {', '.join(unexpected)}")
    return 1 if unexpected else 0


def run_file(name: str, folder: Path) -> Path:
    """An example run as `fairtrial try` takes it, with files inlined and with digests that stand for no image."""
    images = {path.parent.name: f"localhost/fairtrial/{path.parent.name}@{NO_DIGEST}" for path in _dockerfiles()}
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump_all(render.render_file(ROOT / "examples" / "runs" / f"{name}.yaml", images)))
    return file


def _try(name: str) -> int | None:
    """The exit code of one try, or None if it was left out."""
    if "node" in name and not shutil.which("node"):
        say(f"{name}: left out, since there is no node on this machine's PATH\n")
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = run_file(name, Path(folder))
        task = yaml.safe_load(file.read_text())["spec"]["taskRef"]["name"].rpartition("-v")[0]
        code = try_run.run(file, ROOT / "examples" / "tasks" / task, None)
    say("")
    return code


def _dockerfiles() -> list[Path]:
    return sorted((ROOT / "examples" / "images").glob("*/Dockerfile"))
