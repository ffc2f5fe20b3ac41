"""`fairtrial try`: a whole run as local processes, through the launch, record and evaluator code that pods run.

For task and candidate authors. Not isolated: the candidate's program runs as whoever starts this, with their files and
their network. Not evidence: nothing is stored, and nobody but its author saw it.
"""

import dataclasses
import json
import os
import re
import tempfile
import uuid
from pathlib import Path
from typing import Any

import yaml
from fairtrial_evaluator.local import FolderEvidence, LocalTask, evaluate_locally
from fairtrial_runner.local import lay_out, run_here
from fairtrial_runner.places import Places
from rich.console import Console
from rich.table import Table

from fairtrial import documents, names, plans
from fairtrial.api import BenchmarkRun, BenchmarkTask, PodFacts, PodStatus, ResourceClass, parse
from fairtrial.classify import Classification, classify, facts_of
from fairtrial.cli import output
from fairtrial.cli.push import manifest
from fairtrial.documents import AgentPlan, AgentReport, Artifact, EvaluationReport, Step
from fairtrial.errors import InvalidInput
from fairtrial.process import Stop
from fairtrial.task.load import load
from fairtrial.task.pack import Complete, complete, public_archive, sealed_archive

LABEL = "local: not isolated, not evidence"
UID = "local"
EXIT_CODES = {"passed": 0, "failed": 1}
_NO_IMAGE = f"local/nothing@sha256:{'0' * 64}"


@dataclasses.dataclass(frozen=True)
class Tried:
    """What came of a local run."""

    name: str
    agent: AgentReport
    evaluation: EvaluationReport | None
    classification: Classification


class _Folder:
    """Artifacts as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._files = FolderEvidence(folder)

    def put_artifact(self, name: str, content: bytes | Path, *, media_type: str = "") -> Artifact:
        """Keep one artifact."""
        return self._files.put(name, content if isinstance(content, bytes) else content.read_bytes(), media_type)


def run(file: Path, task_folder: Path | None, keep: Path | None) -> int:
    """Run, evaluate, classify and show; 0 passed, 1 failed, 2 anything else."""
    if keep is not None and keep.exists():
        raise InvalidInput(f"{keep}: exists already.", next_move="Name a new folder; nothing is overwritten.")
    wanted = read_run(file)
    folder = task_folder or task_beside(file, wanted.spec.task_ref.name)
    console = output.console()
    console.print(f"{LABEL}: {wanted.spec.candidate.name} runs as you, on this machine.", style="yellow")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        kept = keep or Path(scratch, "kept")
        tried = try_run(wanted, folder, Path(scratch, "run"), kept)
        if keep is not None:
            (keep / "summary.json").write_text(json.dumps(summary(tried), indent=2) + "\n")
    show(console, tried)
    console.print(f"{LABEL}{f'; kept in {keep}' if keep else ''}", style="yellow", soft_wrap=True)
    return EXIT_CODES.get(tried.classification.outcome, 2)


def read_run(file: Path) -> BenchmarkRun:
    """The one BenchmarkRun of a YAML file."""
    try:
        found = [document for document in yaml.safe_load_all(file.read_text()) if document]
    except (OSError, yaml.YAMLError) as error:
        raise InvalidInput(f"{file}: {error}") from error
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


def try_run(wanted: BenchmarkRun, task_folder: Path, scratch: Path, kept: Path) -> Tried:
    """Everything but showing it. Artifacts go to `kept`, the workspace lies below `scratch`."""
    with complete(load(task_folder)) as found:
        task = _task_object(found)
        places = Places.below(scratch)
        bundle = public_archive(found).data
        run_object = _identified(wanted)
        plan = localised(plans.agent_plan(run_object, task, _this_machine(), probes=[]), places)
        lay_out(places, plan, bundle)
        agent = run_here(places, plan, _Folder(kept), Stop())
        evaluation = None
        if agent.ending in {"finished", "deadline"} and agent.snapshot.state == "measured":
            local = LocalTask(found.task.public, found.task.evaluation, found.sealed_files(), found.project)
            judged = evaluate_locally(
                local,
                places.project,
                launcher=found.task.evaluation.launcher,
                evidence=FolderEvidence(kept),
                wall_seconds=found.task.evaluate_seconds,
            )
            evaluation = _of_this_run(judged, agent)
    facts = facts_of(_as_ended(run_object), agent, evaluation)
    return Tried(wanted.metadata.name or "run", agent, evaluation, classify(facts))


def localised(plan: AgentPlan, places: Places) -> AgentPlan:
    """The plan with a pod's paths replaced by this machine's. Pure but for reading `places`."""
    moved = {
        names.CANDIDATE_DIR: places.candidate,
        names.PROJECT_DIR: places.project,
        names.TASK_FILE: places.workspace / "TASK.md",
        names.WORKSPACE_DIR: places.workspace,
        names.HOME_DIR: places.home,
    }

    # In one pass: what was replaced may hold the name of another pod path.
    known = re.compile("|".join(re.escape(path) for path in sorted(moved, key=len, reverse=True)))

    def here(text: str) -> str:
        return known.sub(lambda found: os.fspath(moved[found.group()]), text)

    def step(one: Step) -> Step:
        return dataclasses.replace(one, argv=[here(item) for item in one.argv])

    env = {key: here(value) for key, value in plan.env.items()}
    files = {name: here(text) for name, text in plan.candidate_files.items()}
    return dataclasses.replace(plan, steps=[step(one) for one in plan.steps], env=env, candidate_files=files)


def summary(tried: Tried) -> dict[str, Any]:
    """What `--keep` leaves as summary.json."""
    found = tried.classification
    return {
        "what": LABEL,
        "run": tried.name,
        "outcome": found.outcome,
        "cause": found.cause,
        "reason": found.reason,
        "category": found.category,
        "tags": list(found.tags),
        "agent": documents.to_json(tried.agent),
        "evaluation": documents.to_json(tried.evaluation) if tried.evaluation else None,
    }


def show(console: Console, tried: Tried) -> None:
    """A small table for people."""
    table = Table(box=None, pad_edge=False, show_header=False)
    found = tried.classification
    table.add_row("run", tried.name)
    table.add_row("outcome", " · ".join(part for part in (found.outcome, found.reason, found.category) if part))
    table.add_row("agent", f"{tried.agent.ending} {tried.agent.message}".strip())
    for step in tried.agent.steps:
        end = f"exit code {step.exit_code}" if step.exit_code is not None else f"{step.end} {step.signal or step.error}"
        table.add_row(f"step {step.name}", f"{end}, {step.duration_ms} ms")
    table.add_row("changed", ", ".join(tried.agent.diff.paths[:5]) or "nothing")
    for check in tried.evaluation.checks if tried.evaluation else []:
        table.add_row(f"check {check.name}", f"{check.state} {check.reason}")
    console.print(table)


def _task_object(found: Complete) -> BenchmarkTask:
    document = manifest(found.task, public_archive(found), sealed_archive(found), namespace=UID, image=_NO_IMAGE)
    return parse(BenchmarkTask, document)


def _this_machine() -> ResourceClass:
    """This machine in the place of a resource class: what the agent is told that it has."""
    memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 2**20}Mi"
    have = {"cpu": str(os.cpu_count() or 1), "memory": memory, "ephemeralStorage": "1Gi"}
    sizes = dict.fromkeys(("workspaceSize", "homeSize", "tmpSize"), "1Gi")
    raw = {"metadata": {"name": UID}, "spec": {"requests": have, "limits": have, **sizes}}
    return parse(ResourceClass, {"apiVersion": names.API_VERSION, "kind": "ResourceClass", **raw})


def _identified(wanted: BenchmarkRun) -> BenchmarkRun:
    metadata = wanted.metadata.model_copy(update={"namespace": UID, "uid": str(uuid.uuid4())})
    return wanted.model_copy(update={"metadata": metadata})


def _of_this_run(judged: EvaluationReport, agent: AgentReport) -> EvaluationReport:
    """A local evaluation knows no run; it judged the workspace that this agent left."""
    snapshot = agent.snapshot.artifact.sha256 if agent.snapshot.artifact else ""
    return dataclasses.replace(judged, run=agent.run, pod_uid=UID, snapshot_sha256=snapshot)


def _as_ended(tried: BenchmarkRun) -> BenchmarkRun:
    """The run with its two local processes, which have ended, in the place of pods."""
    ended = PodStatus(name=UID, uid=UID, facts=PodFacts(phase="Succeeded"))
    status = tried.status.model_copy(update={"agent_pod": ended, "evaluator_pod": ended})
    return tried.model_copy(update={"status": status})
