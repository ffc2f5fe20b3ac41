"""`fairtrial try`: a whole run as local processes, through the launch, record and evaluator code that pods run.

For task and candidate authors. Not isolated: the candidate's program runs as whoever starts this, with their files and
their network. Not evidence: nothing is stored, and nobody but its author saw it.
"""

import contextlib
import dataclasses
import json
import os
import signal
import tempfile
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml
from fairtrial_evaluator.local import FolderEvidence, LocalTask, evaluate_locally
from fairtrial_evaluator.trees import delete
from fairtrial_runner.local import lay_out, run_here
from fairtrial_runner.places import Places

from fairtrial import names, plans
from fairtrial.api import (
    BenchmarkRun,
    BenchmarkTask,
    ContainerFacts,
    PodFacts,
    PodStatus,
    ResolvedTask,
    ResourceClass,
    parse,
)
from fairtrial.archive import extract
from fairtrial.classify import classify, facts_of
from fairtrial.cli import output
from fairtrial.cli.localise import localised
from fairtrial.cli.push import manifest
from fairtrial.cli.tried import LABEL, Tried, show, summary
from fairtrial.documents import Artifact, EvaluationPlan, EvaluationReport
from fairtrial.errors import InvalidInput
from fairtrial.process import Stop
from fairtrial.task.load import load
from fairtrial.task.pack import Complete, complete, public_archive, sealed_archive
from fairtrial.task.packed import PROJECT

UID = "local"
INTERRUPTED = "interrupted"  # a recorder that is done sets a reason of its own
EXIT_CODES = {"passed": 0, "failed": 1}
_NO_IMAGE = f"local/nothing@sha256:{'0' * 64}"
_CHUNK = 1 << 18
_NO_KEY = "none"  # agents refuse to start without a key, even where the provider wants none


@dataclass(frozen=True)
class LocalModel:
    """A provider that the candidate calls itself, without a gateway: nothing of it is recorded."""

    access: plans.GatewayAccess
    token: str


def model_of(url: str, model: str, token: str) -> LocalModel | None:
    """What the options say; None if they say nothing."""
    if bool(url) != bool(model):
        raise InvalidInput("--model-url and --model go together.", next_move="Give both, or neither.")
    access = plans.GatewayAccess(url.rstrip("/"), model, path="")
    return LocalModel(access, token or _NO_KEY) if url else None


class _Folder:
    """Artifacts as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._files = FolderEvidence(folder)

    def put_artifact(self, name: str, content: bytes | Path, *, media_type: str = "") -> Artifact:
        """Keep one artifact."""
        return self._files.put(name, content if isinstance(content, bytes) else content.read_bytes(), media_type)


def run(
    file: Path,
    task_folder: Path | None,
    keep: Path | None,
    work: Path | None = None,
    model: LocalModel | None = None,
) -> int:
    """Run, evaluate, classify and show; 0 passed, 1 failed, 2 anything else."""
    for folder in (keep, work):
        if folder is not None and folder.exists():
            raise InvalidInput(f"{folder}: exists already.", next_move="Name a new folder; nothing is overwritten.")
    wanted = read_run(file)
    task = task_folder or task_beside(file, wanted.spec.task_ref.name)
    console = output.console()
    console.print(LABEL, style="yellow")
    console.print(
        f"{wanted.spec.candidate.name} is somebody's program. It runs as you, and may do whatever you may.",
        style="yellow",
        markup=False,
        soft_wrap=True,
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        place = (work or Path(scratch)).absolute()
        tried = try_run(wanted, task, place, keep or Path(scratch, "kept"), model)
    if keep is not None:
        (keep / "summary.json").write_text(json.dumps(summary(tried), indent=2) + "\n")
    show(console, tried, keep)
    console.print(LABEL, style="yellow")
    return EXIT_CODES.get(tried.classification.outcome, 2)


def read_run(file: Path) -> BenchmarkRun:
    """The one BenchmarkRun of a YAML file."""
    try:
        found = [document for document in yaml.safe_load_all(file.read_text()) if document]
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidInput(f"{file}: cannot be read: {error}") from error
    runs = [document for document in found if isinstance(document, dict) and document.get("kind") == "BenchmarkRun"]
    if len(runs) != 1:
        raise InvalidInput(f"{file}: holds {len(runs)} BenchmarkRuns.", next_move="Give a file with exactly one.")
    return parse(BenchmarkRun, runs[0], name=str(file))


def task_beside(file: Path, name: str) -> Path:
    """`../tasks/<task>` of the run's file, for a task object named `<task>-v<version>`."""
    folder = file.resolve().parent.parent / "tasks" / name.rpartition("-v")[0]
    if not (folder / "task.yaml").is_file():
        raise InvalidInput(f"{file}: task {name} is not in {folder}.", next_move="Name its folder: --task FOLDER.")
    return folder


def try_run(
    wanted: BenchmarkRun, task_folder: Path, scratch: Path, kept: Path, model: LocalModel | None = None
) -> Tried:
    """Everything but showing it. Artifacts go to `kept`, the workspace lies below `scratch`."""
    if model is None and plans.uses_a_model(wanted):
        raise InvalidInput(
            f"{wanted.metadata.name}: candidate {wanted.spec.candidate.name} calls a model.",
            next_move="Give --model-url and --model, such as those of `fairtrial scripted-provider`.",
        )
    with complete(load(task_folder)) as found:
        task, machine = _task_object(found), _this_machine()
        accepted = _accepted(wanted, task)
        plan = plans.agent_plan(accepted, task, machine, probes=[], access=model.access if model else None)
        if why := plans.too_large(plan):
            raise InvalidInput(f"{wanted.metadata.name}: {why}")
        places = Places.below(scratch / "run")
        plan = localised(plan, places)
        lay_out(places, plan, public_archive(found).data)
        if model:
            places.model_token.write_text(model.token)
        with _interruptible() as stop:
            agent = run_here(places, plan, _Folder(kept), stop)
        evaluation, interrupted = None, stop.reason == INTERRUPTED
        if not interrupted and agent.ending in {"finished", "deadline"} and agent.snapshot.state == "measured":
            told = plans.evaluation_plan(accepted, agent, task, machine)
            evaluation = _evaluated(found, told, kept, scratch / "snapshot")
    ended = _ended(accepted, evaluated=evaluation is not None, cancelled=interrupted)
    return Tried(accepted.metadata.name, agent, evaluation, classify(facts_of(ended, agent, evaluation)))


@contextlib.contextmanager
def _interruptible() -> Iterator[Stop]:
    """Ctrl-C ends the candidate and all that it started: in a session of its own, it would outlive us otherwise."""
    stop = Stop()

    def interrupt(*_: object) -> None:
        # Not here: the interrupted code may hold the lock that `set` takes.
        threading.Thread(target=stop.set, args=(INTERRUPTED,), daemon=True).start()

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _evaluated(found: Complete, plan: EvaluationPlan, kept: Path, scratch: Path) -> EvaluationReport:
    """Judge the snapshot, as an evaluator pod does; not the workspace, which may have changed after it was taken."""
    scratch.mkdir()
    with (kept / plan.snapshot_artifact).open("rb") as file:
        extract(iter(lambda: file.read(_CHUNK), b""), scratch, sha256=plan.snapshot_sha256, unsafe="skip")
    project = scratch / PROJECT
    if not project.is_dir():
        delete(project)
        project.mkdir()
    judged = evaluate_locally(
        LocalTask(found.task.public, found.task.evaluation, found.sealed_files(), found.project),
        project,
        launcher=found.task.evaluation.launcher,
        evidence=FolderEvidence(kept),
        wall_seconds=plan.wall_seconds,
    )
    return dataclasses.replace(
        judged,
        run=plan.run,
        pod_uid=UID,
        bundle_sha256=plan.bundle_sha256,
        sealed_sha256=plan.sealed_sha256,
        snapshot_sha256=plan.snapshot_sha256,
    )


def _task_object(found: Complete) -> BenchmarkTask:
    document = manifest(found.task, public_archive(found), sealed_archive(found), namespace=UID, image=_NO_IMAGE)
    document["metadata"]["uid"] = UID
    return parse(BenchmarkTask, document)


def _this_machine() -> ResourceClass:
    """This machine in the place of a resource class: what the agent is told that it has."""
    memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 2**20}Mi"
    have = {"cpu": str(os.cpu_count() or 1), "memory": memory, "ephemeralStorage": "1Gi"}
    sizes = dict.fromkeys(("workspaceSize", "homeSize", "tmpSize"), "1Gi")
    raw = {"metadata": {"name": UID}, "spec": {"requests": have, "limits": have, **sizes}}
    return parse(ResourceClass, {"apiVersion": names.API_VERSION, "kind": "ResourceClass", **raw})


def _accepted(wanted: BenchmarkRun, task: BenchmarkTask) -> BenchmarkRun:
    """The run as the operator accepts it: with an identity, and with the task resolved."""
    identity = {"namespace": UID, "uid": str(uuid.uuid4())}
    status = wanted.status.model_copy(update={"task": ResolvedTask.of(task)})
    return wanted.model_copy(update={"metadata": wanted.metadata.model_copy(update=identity), "status": status})


def _ended(accepted: BenchmarkRun, *, evaluated: bool, cancelled: bool) -> BenchmarkRun:
    """The run with what was observed: local processes that ended, in the place of pods; and who stopped it."""
    status = accepted.status.model_copy(
        update={
            "agent_pod": _exited(names.CONTAINER_AGENT),
            "evaluator_pod": _exited(names.CONTAINER_CHECKS) if evaluated else None,
            "timestamps": accepted.status.timestamps.model_copy(
                update={"cancelled": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if cancelled else None}
            ),
        }
    )
    return accepted.model_copy(update={"status": status})


def _exited(container: str) -> PodStatus:
    facts = PodFacts(phase="Succeeded", containers={container: ContainerFacts(exit_code=0)})
    return PodStatus(name=UID, uid=UID, facts=facts)
