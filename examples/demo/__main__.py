"""`make demo`: a cluster, the chart, the example tasks, the example runs, and a table of what came of them."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

import local_cluster
from examples import render
from examples.demo import agents, cohorts, models, signing, tries
from examples.demo.install import OUR_IMAGES, ROOT, RUN_NAMESPACE, Target, existing_store, install
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cli.watch import COLOURS, until_recorded
from fairtrial.errors import FairtrialError
from fairtrial.evidence.store import S3Store
from local_cluster.binaries import ProgramNotBuilt
from local_cluster.images import PROVIDER as SCRIPTED_PROVIDER
from local_cluster.images import BuildFailed
from local_cluster.packages import MissingProgram
from local_cluster.processes import ComponentFailed, PortTaken
from local_cluster.progress import say, step

# One of each kind of end, small enough for two cores; `make test` runs all of examples/runs.
DEMO_RUNS = (
    "reference-parse-defect",
    "noop-parse-defect",
    "wrong-parse-defect",
    "tamperer-parse-defect",
    "reference-node-feature",
    "reference-busybox",
)
DEMO_LABEL = "fairtrial.dev/demo"
EXAMPLE_IMAGES = ("python", "node", "busybox")
# Told in words, without a traceback.
EXPLAINED = (FairtrialError, ComponentFailed, MissingProgram, PortTaken, ProgramNotBuilt, BuildFailed)


def main() -> None:
    """Parse the arguments and run the demo on the local cluster, or on the one that `--context` names."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--context", help="a kubeconfig context to use instead of the local cluster")
    parser.add_argument(
        "--try", action="store_true", dest="locally", help="without a cluster: not isolated, not evidence"
    )
    parser.add_argument(
        "--agent", metavar="NAME", help="let this agent of examples/agents solve a task, with a scripted model"
    )
    parser.add_argument("--cohort", metavar="NAME", help="carry out this cohort of examples/cohorts instead of runs")
    parser.add_argument("--values", help="chart values with your images by digest (needed with --context)")
    arguments = parser.parse_args()
    if arguments.locally:
        sys.exit(tries.run())
    also = (agents.run_file(arguments.agent).parent.name, SCRIPTED_PROVIDER) if arguments.agent else ()
    target = own_cluster(arguments.context, arguments.values) if arguments.context else local_target(also)
    install(target)
    kubectl = Kubectl(target.context, RUN_NAMESPACE)
    agent = [labelled(agents.run_of(target.images, arguments.agent))] if arguments.agent else []
    with step("remove the runs and tasks of an earlier demo; its records stay in the store"):
        # Neither is ever edited, and a task names its evaluator's image by digest, which may have been built anew.
        kubectl.run("delete", "benchmarkruns", "--selector", f"{DEMO_LABEL}=true", "--wait=true", "--timeout=120s")
        if arguments.cohort:
            kubectl.run("delete", "benchmarkcohorts", arguments.cohort, "--ignore-not-found", "--timeout=120s")
        kubectl.run("delete", "benchmarktasks", "--ignore-not-found", *map(object_name, example_tasks()))
    push_tasks(target, only=tuple(map(agents.task_of, agent)))
    if arguments.cohort:
        cohort = cohorts.cohort_of(target.images, kubectl, arguments.cohort)
        say(f"  carry out cohort {arguments.cohort}")
        complete = cohorts.carried_out(kubectl, cohort, timeout_seconds=3600)
        Console().print(cohorts.accounted(complete))
        Console().print(cohorts.sealed_as(complete), soft_wrap=True, highlight=False)
        if "analysis" not in cohort["spec"]:  # no verdict is asked for: what was measured is all there is
            sys.exit(cohorts.measured(arguments.cohort, RUN_NAMESPACE, target.context))
        cohorts.analysed(kubectl, arguments.cohort, timeout_seconds=1800)
        trust = signing.TRUST if target.own_keys else None
        sys.exit(cohorts.audited(arguments.cohort, RUN_NAMESPACE, target.context, trust))
    if agent:
        models.declare(kubectl, models.deploy(target, models.SCRIPTS / f"{agents.task_of(agent[0])}.yaml"))
    runs = agent or example_runs(target.images)
    with step(f"apply {len(runs)} example runs with kubectl"):
        kubectl.apply(yaml.safe_dump_all(runs))
    say("  wait for every run's record")
    ended = until_recorded(kubectl, f"{DEMO_LABEL}=true", timeout_seconds=900)
    _report(target, ended, with_model=bool(agent))


def local_target(also: tuple[str, ...] = ()) -> Target:
    """The local cluster, started or found, with its kubectl and helm first on this process's PATH."""
    cluster = local_cluster.up(with_images=True, also=also)
    os.environ.update(cluster.environment())
    os.environ["PATH"] = f"{cluster.bin_dir}{os.pathsep}{os.environ['PATH']}"
    return target_of(cluster)


def target_of(cluster: local_cluster.Cluster) -> Target:
    """The local cluster and its store as a place to install on."""
    return Target(
        context=None,
        images=dict(cluster.images),
        endpoint=cluster.s3_endpoint,
        bucket=cluster.bucket,
        access_key=cluster.s3_access_key,
        secret_key=cluster.s3_secret_key,
    )


def own_cluster(context: str, values_file: str | None) -> Target:
    """Somebody's cluster by its kubeconfig context, with the images that their values file names."""
    if not values_file:
        raise SystemExit("error: with CONTEXT=… also give VALUES=<file> that names your images; see README.md.")
    if not shutil.which("helm") or not shutil.which("kubectl"):
        raise SystemExit("error: helm 4 and kubectl must be on the PATH to use your own cluster.")
    store = existing_store()
    values = yaml.safe_load(Path(values_file).read_text()) or {}
    images = {**values.get("images", {}), **values.pop("exampleImages", {})}
    if missing := sorted({*OUR_IMAGES, *EXAMPLE_IMAGES} - images.keys()):
        raise SystemExit(f"error: {values_file}: no image for {', '.join(missing)}; README.md shows the file.")
    return Target(
        context,
        images,
        store["FAIRTRIAL_S3_ENDPOINT"],
        store["FAIRTRIAL_S3_BUCKET"],
        store["AWS_ACCESS_KEY_ID"],
        store["AWS_SECRET_ACCESS_KEY"],
        values=values,
        local=False,
    )


def push_tasks(target: Target, namespace: str = RUN_NAMESPACE, only: tuple[str, ...] = ()) -> None:
    """Push the example tasks: archives into the store, one BenchmarkTask each into the namespace."""
    tasks = [task for task in example_tasks() if not only or task.name in only]
    environment = os.environ | {
        "FAIRTRIAL_S3_ENDPOINT": target.endpoint,
        "FAIRTRIAL_S3_BUCKET": target.bucket,
        "AWS_ACCESS_KEY_ID": target.access_key,
        "AWS_SECRET_ACCESS_KEY": target.secret_key,
    }
    for task in tasks:
        with step(f"push task {task.name}"):
            image = target.images[evaluator_image(task)]
            command = [
                str(Path(sys.executable).with_name("fairtrial")),
                "task",
                "push",
                str(task),
                "--namespace",
                namespace,
                "--evaluator-image",
                image,
            ]
            if target.context:
                command += ["--context", target.context]
            told = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
            if told.returncode:
                raise SystemExit(told.stderr.strip())


def example_tasks() -> list[Path]:
    """The folders of the example tasks."""
    return sorted(path.parent for path in (ROOT / "examples" / "tasks").glob("*/task.yaml"))


def object_name(task: Path) -> str:
    """The name of the BenchmarkTask that a task folder is pushed as."""
    written = yaml.safe_load((task / "task.yaml").read_text())
    return f"{written['name']}-v{written['version']}"


def evaluator_image(task: Path) -> str:
    """The short name of the example image that a task's checks run in."""
    named = str(yaml.safe_load((task / "task.yaml").read_text())["evaluatorImage"])
    return named.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0]


def example_runs(images: dict[str, str], names: tuple[str, ...] = DEMO_RUNS) -> list[dict[str, Any]]:
    """The example runs with every image pinned to the digests at hand, labelled as the demo's."""
    files = [ROOT / "examples" / "runs" / f"{name}.yaml" for name in names]
    return [labelled(run) for file in files for run in render.render_file(file, images)]


def labelled(run: dict[str, Any]) -> dict[str, Any]:
    """The run, to be known as the demo's by the next one."""
    run["metadata"].setdefault("labels", {})[DEMO_LABEL] = "true"
    return run


def _report(target: Target, runs: list[dict[str, Any]], *, with_model: bool) -> None:
    console = Console(width=None if Console().is_terminal else 160)
    table = Table(title="What came of it", title_justify="left", box=None, pad_edge=False)
    for column in ("RUN", "OUTCOME", "REASON", "CATEGORY", "RECORD SHA-256"):
        table.add_column(column, overflow="fold")
    for run in sorted(runs, key=lambda item: str(item["metadata"]["name"])):
        status = run.get("status", {})
        outcome = status.get("outcome", "—")
        row = [run["metadata"]["name"], outcome, status.get("reason", "") or "", status.get("category", "") or ""]
        table.add_row(*row, status.get("record", {}).get("sha256", "")[:16] + "…", style=COLOURS.get(outcome, ""))
    console.print()
    console.print(table)
    for run in runs if with_model else []:
        console.print()
        console.print(agents.used(S3Store.from_env(), run))
    console.print("\nThe records:", highlight=False)
    for run in sorted(runs, key=lambda item: str(item["metadata"]["name"])):
        record = run.get("status", {}).get("record", {})
        console.print(f"  {record.get('uri')}  sha256:{record.get('sha256')}", highlight=False, soft_wrap=True)
    console.print("\n" + _next_commands(target, runs), highlight=False, soft_wrap=True)


def _next_commands(target: Target, runs: list[dict[str, Any]]) -> str:
    name = sorted(run["metadata"]["name"] for run in runs)[0]
    lines = ["Read on:"]
    if target.local:
        lines.append(
            '  eval "$(.venv/bin/python -m local_cluster env)"      # kubectl, helm and the store for this shell'
        )
    lines.append('  export PATH="$PWD/.venv/bin:$PATH"')
    where = f"-n {RUN_NAMESPACE}" + (f" --context {shlex.quote(target.context)}" if target.context else "")
    lines += [
        f"  kubectl {where} get benchmarkruns",
        f"  kubectl {where} describe benchmarkrun {name}",
        f"  fairtrial record {name} {where}               # the record, checked against its hash",
        f"  fairtrial artifacts {name} {where} --to evidence/{name}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        main()
    except EXPLAINED as failure:
        sys.exit(f"✗ {failure}")
    except KeyboardInterrupt:
        sys.exit("✗ interrupted; the same command goes on where this one was")
