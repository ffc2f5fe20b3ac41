"""A whole small cohort as evidence: planned, run, recorded, signed and packaged by the real code, with keys of its own.

`World` holds what happened as plain data; `files` makes everything that follows from it, so that a test can change one
thing and have all else agree (somebody inside), or change one file afterwards (somebody outside).
"""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.source import FolderSource
from fairtrial_analysis.package import bag, papers
from fairtrial_analysis.package.listing import File
from fairtrial_analysis.report import canonical, tables
from fairtrial_analysis.report.compute import Made, compute

from fairtrial.api import BenchmarkCohort, BenchmarkRun, ModelProvider, parse
from fairtrial.api.run import Replaced, ResolvedProvider, ResolvedResourceClass, ResolvedTask
from fairtrial.attest import merkle, note, statement
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.audit.ledger import CHECKPOINT_EVERY
from fairtrial.cohort.ledger import Ledger
from fairtrial.cohort.preregistration import Found, document, to_bytes
from fairtrial.cohort.runs import replacement_manifest, run_manifest
from fairtrial.cohort.schedule import Entry, schedule_of
from fairtrial.documents import (
    Artifact,
    Consumption,
    Diff,
    EvaluationReport,
    Interaction,
    Leftovers,
    RunIdentity,
    Snapshot,
    Stream,
    dump,
    from_json,
)
from fairtrial.errors import InvalidInput
from fairtrial.evidence import statements
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.package_paths import PackageLayout
from fairtrial.evidence.record import assemble, load_record
from fairtrial.signing import keys, sign
from fairtrial.signing.keys import SigningKey
from fairtrial.testing import (
    EVALUATOR_IMAGE,
    agent_report,
    call_course,
    check_result,
    confirmatory,
    evaluation_report,
    interaction_summary,
    make_cohort,
    make_finished_run,
    make_resource_class,
    make_task,
    pod_facts,
    step_result,
)
from fairtrial.usage.calls import Call, ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.money import Cost

JsonObject = dict[str, Any]
AT = "2026-01-01T{:02d}:{:02d}:00Z"
DAY = datetime(2026, 1, 1, tzinfo=UTC)
TASKS = ("task-1", "task-2")
INVALID = 7  # this entry of the schedule is evicted, and replaced
FAILS = ((("task-1", "once"), {1, 4}), (("task-2", "once"), {2}), (("task-2", "twice"), {3}))


def at(hour: int, minute: int) -> str:
    """As `AT`, of any number of minutes."""
    return f"{DAY + timedelta(hours=hour, minutes=minute):%Y-%m-%dT%H:%M:%SZ}"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def key_of(name: str) -> SigningKey:
    return keys.of_private(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


KEYS = {role: key_of(role) for role in ("studyOwner", "operator", "evaluator", "analysis")}
TRUST = TrustList(tuple(TrustedKey(role, key.public) for role, key in KEYS.items()))
PUBLIC = {name: f"public archive of {name}".encode() for name in TASKS}


def cohort(**changes: Any) -> BenchmarkCohort:
    """Confirmatory, with a rule that needs the verdict's machinery: a difference, a ratio, a count of tasks."""
    given = confirmatory()
    given["constitution"] |= {"primaryMetrics": ["success_rate", "accounted_tokens"]}
    given["analysis"] = {"version": bag.version(), "image": EVALUATOR_IMAGE, "seed": 7}
    given["decisionRule"] = {
        "name": "fewer-tokens",
        "gates": ["equivalence", "isolation"],
        "dataGates": [condition("telemetry", "accounted_tokens", "coverage", "atLeast", "0.9")],
        "conditions": [
            condition("success-not-worse", "success_rate", "difference", "above", "-0.90", "lower95"),
            condition("tokens-lower", "accounted_tokens", "ratio", "below", "1"),
            condition("pooled-lower", "accounted_tokens", "pooledMedianRatio", "below", "2"),
            condition("both-lower", "accounted_tokens", "tasksLower", "atLeast", "2"),
        ],
    }
    tasks = [{"name": name, "publicSha256": sha(PUBLIC[name]), "sealedSha256": sha(name.encode())} for name in TASKS]
    for index, task in enumerate(tasks):
        task["category"] = f"category {index}"
    network = {"network": {"modelProviderRef": {"name": "p"}}, "resourceClassName": "small"}
    return make_cohort(**given | {"tasks": tasks, "execution": network} | changes)


def condition(name: str, metric: str, statistic: str, comparison: str, threshold: str, bound: str = "point") -> Any:
    return {
        "name": name,
        "metric": metric,
        "statistic": statistic,
        "comparison": comparison,
        "threshold": threshold,
        "bound": bound,
    }


def provider() -> ModelProvider:
    spec = {
        "url": "https://models.example",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "key", "key": "token"},
        "model": {"id": "model-1"},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
    }
    return parse(ModelProvider, {"metadata": {"name": "p", "uid": "p-uid"}, "spec": spec})


def found(of: BenchmarkCohort) -> Found:
    tasks = {
        task.name: make_task(
            task.name,
            publicArchive={"sha256": task.public_sha256, "size": 1},
            sealedArchive={"sha256": task.sealed_sha256, "size": 1},
        )
        for task in of.spec.tasks
    }
    return Found(tasks, make_resource_class(), {"p": provider()})


@dataclass
class World:
    """What happened. `pages` are entries of the ledger as JSON, without their numbers and hashes of records."""

    preregistration: JsonObject
    records: dict[str, JsonObject]
    pages: list[tuple[str, list[JsonObject]]]
    blobs: dict[str, bytes]  # artifacts and archives, by path below data/
    corrections: list[JsonObject] = field(default_factory=list)
    keys: dict[str, SigningKey] = field(default_factory=lambda: dict(KEYS))
    trust: bytes = TRUST.to_bytes()
    # Changes of stored files before the analysis reads them: by path below data/; None removes a file.
    changed: dict[str, Callable[[bytes], bytes | None]] = field(default_factory=dict)

    def copy(self) -> "World":
        return copy.deepcopy(self)

    def entries(self, kind: str) -> list[JsonObject]:
        return [entry for _, page in self.pages for entry in page if entry["kind"] == kind]

    def entry(self, kind: str, run: str) -> JsonObject:
        return next(entry for entry in self.entries(kind) if entry["run"] == run)


def _entry(entry: Entry, uid: str) -> JsonObject:
    return {"run": entry.run, "uid": uid, "index": entry.index}


def run_of(of: BenchmarkCohort, entry: Entry, number: int, replaced: Replaced | None, prereg: str) -> BenchmarkRun:
    """The run of an entry, or its replacement, as it was when its last pod had ended."""
    if replaced is None:
        raw = run_manifest(of, entry, preregistration_sha256=prereg)
    else:
        raw = replacement_manifest(of, entry, replaced, number, preregistration_sha256=prereg)
    uid = f"uid-{entry.index}-{number}"
    named = found(of)
    made = make_finished_run(raw["metadata"]["name"]).status.as_json()
    made["task"] = ResolvedTask.of(named.tasks[entry.task]).as_json()
    made["provider"] = ResolvedProvider.of(provider()).as_json()
    made["resourceClass"] = ResolvedResourceClass.of(named.resource_class).as_json()
    hours = {"accepted": 13, "agentCreated": 13, "agentStarted": 14, "agentFinished": 15}
    made["timestamps"] = {name: at(hour + 4 * number, entry.index) for name, hour in hours.items()}
    if entry.index == INVALID and number == 0:
        made["evaluatorPod"] = None
        made["agentPod"]["facts"] = pod_facts(phase="Failed", reason="Evicted").as_json()
    raw["metadata"] |= {"uid": uid, "generation": 1}
    return parse(BenchmarkRun, raw | {"status": made})


def _artifact(blobs: dict[str, bytes], run: str, name: str, data: bytes) -> Artifact:
    blobs[f"runs/{run}/artifacts/{name}"] = data
    return Artifact(name, len(data), sha(data))


def _record(run: BenchmarkRun, entry: Entry, blobs: dict[str, bytes], output: bytes | None) -> JsonObject:
    """The record of a run; without the agent's output, of one that was evicted."""
    name, uid = run.metadata.name, run.metadata.uid
    who = RunIdentity(run.metadata.namespace, name, uid)
    put = lambda path, data: _artifact(blobs, name, path, data)  # noqa: E731
    calls = _calls(run, entry, blobs)
    reports = (put("model/calls.json", dump(calls)),)
    if output is None:
        return json.loads(assemble(run, None, None, reports, calls).to_bytes())
    snapshot = put("agent/snapshot.tar", f"snapshot of {name}".encode())
    diff = put("agent/diff.patch", f"diff of {name}".encode())
    out = put("agent/step-1.stdout.bin", output)
    left = Leftovers(processes_swept=entry.index % 3, listening_ports=[4567] * (entry.index % 2))
    agent = agent_report(
        run=who,
        snapshot=Snapshot("measured", snapshot, files=3, bytes=900),
        diff=Diff("measured", diff, 1, 1, 0, 20 + entry.index, 2, 0, 0, ["a.py"]),
        streams=[Stream("step-1.stdout", out.size, out.sha256, out.size, False, [out])],
        steps=[step_result(duration_ms=60000 + 1000 * entry.index)],
        interaction=Interaction("measured", "pi", summary=interaction_summary(entry.index)),
        consumption=Consumption(10**6 * entry.index, 600, entry.index % 4, 1000 * entry.index, 2**28 + entry.index),
        leftovers=left,
        artifacts=[diff, snapshot, out],
    )
    fails = any(cell == entry.cell and entry.repetition in when for cell, when in FAILS)
    state = "failed" if fails else "passed"
    task = run.status.task
    assert task is not None
    evaluation = evaluation_report(
        run=who,
        verdict=state,
        bundle_sha256=task.public_sha256,
        sealed_sha256=task.sealed_sha256,
        snapshot_sha256=snapshot.sha256,
        checks=[check_result(state, name="behaviour"), check_result(name="style")],
        artifacts=[put("evaluation/behaviour.xml", f"results of {name}".encode())],
    )
    made: JsonObject = json.loads(assemble(run, agent, evaluation, reports, calls).to_bytes())
    return made


def _calls(run: BenchmarkRun, entry: Entry, blobs: dict[str, bytes]) -> ModelCalls:
    exchange, page, journal = f"176726880000{entry.index % 10}-0000000a", b'{"page":1}', b"frames"
    base = f"runs/{run.metadata.name}/model/{exchange}"
    blobs |= {f"{base}/exchange.json": page, f"{base}/exchange.ftj": journal}
    kept = (len(journal), sha(journal))
    call = Call(exchange, len(page), sha(page), "generate", "complete", "", 200, "model-1", "complete", *kept)
    fewer = 100 if entry.candidate == "twice" else 0
    counters = Counters(
        all_input=1000 + 10 * entry.index - fewer,
        uncached_input=600 + 10 * entry.index - fewer,
        cached_input=400,
        output=200 + entry.repetition,
        reasoning=50,
        reasons={"cache_write": "not_in_wire", "total": "not_told"},
    )
    cost = Cost(reason="no_pricing_snapshot")
    return ModelCalls(
        "p", "model-1", [call], 3, 3, {}, [], total=Total(1, counters, {}), cost=cost, answered_models=["model-1"],
        course=call_course(entry.index),
    )  # fmt: skip


def happened(of: BenchmarkCohort, output: Callable[[str], bytes] = lambda run: f"output of {run}".encode()) -> World:
    """All that happened to a cohort of two tasks, two candidates and five repetitions, or another.

    `output` is what the agent of a run wrote.
    """
    prereg = document(of, found(of))
    prereg_sha = sha(to_bytes(prereg))
    blobs = {f"tasks/sha256/{sha(data)}": data for data in PUBLIC.values()}
    world = World(
        json.loads(to_bytes(prereg)), {}, [(AT.format(12, 0), [{"kind": "sealed", "sha256": prereg_sha}])], blobs
    )
    ticketed = [{"kind": "ticket", "run": entry.run, "index": entry.index} for entry in schedule_of(of).entries]
    world.pages += [(at(12, one["index"]), [one]) for one in ticketed]
    for entry in schedule_of(of).entries:
        _happen(world, of, entry, prereg_sha, output)
    world.pages.sort(key=lambda page: page[0])
    outcomes = Counter(record["classification"]["outcome"] for record in world.records.values())
    counts = {"scheduled": len(ticketed), "replacements": 1} | dict(sorted(outcomes.items()))
    world.pages.append((at(23, max(59, len(ticketed))), [{"kind": "complete", "counts": counts}]))
    return world


def _happen(world: World, of: BenchmarkCohort, entry: Entry, prereg: str, output: Callable[[str], bytes]) -> None:
    """One entry of the schedule, from its ticket to the record of its last run."""
    replaced: Replaced | None = None
    for number in (0, 1) if entry.index == INVALID else (0,):
        run = run_of(of, entry, number, replaced, prereg)
        name, uid = run.metadata.name, run.metadata.uid
        invalid = entry.index == INVALID and number == 0
        record = _record(run, entry, world.blobs, None if invalid else output(name))
        world.records[name] = record
        end = record["classification"]
        told = {key: end[key] for key in ("outcome", "invalidity", "reason") if end.get(key)}
        ends = [{"kind": "record", **_entry(entry, uid), "run": name, **told}]
        if entry.index == INVALID and not number:
            by = f"{entry.run}-r1"
            why = "host_failure by evicted: the cluster says so of its node."
            ends.append({"kind": "replacement", **_entry(entry, uid), "by": by, "code": "allowed", "why": why})
            ends.append({"kind": "ticket", "run": by, "index": entry.index})
        world.pages.append((at(16 + 4 * number, entry.index), ends))
        replaced = Replaced(name=name, uid=uid)


# --- everything that follows from what happened -----------------------------------------------------------------------
def evidence(world: World) -> dict[str, bytes]:
    """The files that the store holds, by path below data/: records, ledger, checkpoints, statements."""
    files = dict(world.blobs)
    files["preregistration.json"] = dump(world.preregistration)
    said = statements.preregistration(files["preregistration.json"], world.preregistration)
    files["preregistration.sigstore.json"] = sign.statement(said, world.keys["operator"])
    for run, record in world.records.items():
        _of_run(world, files, run, record)
    for number, one in enumerate(world.corrections, 1):
        files[f"corrections/{number:08d}.json"] = dump(one)
    _ledger(world, files)
    return files


def signed(
    world: World, role: str, subjects: list[tuple[str, bytes]], predicate_type: str, predicate: JsonObject
) -> bytes:
    digests = [(name, sha(data)) for name, data in subjects]
    return sign.statement(Statement.of(digests, predicate_type, predicate), world.keys[role])


def _of_run(world: World, files: dict[str, bytes], run: str, record: JsonObject) -> None:
    data = files[f"runs/{run}/record.json"] = dump(record)
    try:
        said = statements.provenance(load_record(data), data)
    except InvalidInput:  # a record that a test has made impossible
        said = Statement.of([("record.json", sha(data))], statement.PROVENANCE, {})
    files[f"runs/{run}/record.sigstore.json"] = sign.statement(said, world.keys["operator"])
    if record["evaluation"]["verdict"]["state"] == "measured":
        said = statements.evaluation(evaluation_of(record), b"the evaluator's report")
        files[f"runs/{run}/evaluation.sigstore.json"] = sign.statement(said, world.keys["evaluator"])


def evaluation_of(record: JsonObject, **changes: Any) -> EvaluationReport:
    """What the evaluator had reported, as far as a record tells."""
    identity, found = record["identity"], record["evaluation"]
    made = {
        "run": {"namespace": identity["namespace"], "name": identity["run"], "uid": identity["uid"]},
        "podUid": "pod",
        "verdict": found["verdict"]["value"],
        "bundleSha256": identity["task"]["publicSha256"]["value"],
        "sealedSha256": identity["task"]["sealedSha256"]["value"],
        "snapshotSha256": found["snapshotSha256"]["value"],
        "checks": found["checks"],
    }
    report: EvaluationReport = from_json(EvaluationReport, made | changes, "evaluation")
    return report


def _ledger(world: World, files: dict[str, bytes]) -> None:
    """Pages and checkpoints, by the real ledger where it takes them; by hand where a test has made them impossible."""
    who = world.preregistration["cohort"]
    size, head, leaves = 0, "", list[bytes]()
    ends = []
    for at, page in world.pages:
        entries = [_numbered(one, size + place, files) for place, one in enumerate(page, 1)]
        made = {"cohort": who["name"], "uid": who["uid"], "at": at, "previousSha256": head, "entries": entries}
        data = files[f"ledger/{size + 1:08d}.json"] = dump(made | {"schemaVersion": 1})
        leaves += [dump(one) for one in entries]
        size, head = size + len(entries), sha(data)
        ends.append((size, any(one["kind"] == "complete" for one in entries)))
    over, before = False, 0
    for end, complete in ends:
        over = over or complete
        crossed, before = end // CHECKPOINT_EVERY > before // CHECKPOINT_EVERY, end
        if over or crossed or end == ends[0][0]:
            said = Checkpoint(note.origin(who["namespace"], who["name"], who["uid"]), end, merkle.root(leaves[:end]))
            files[f"checkpoints/{end:08d}.note"] = sign.checkpoint(said, world.keys["operator"])


def _numbered(entry: JsonObject, number: int, files: dict[str, bytes]) -> JsonObject:
    made = dict(entry) | {"number": number}
    if entry["kind"] == "record" and "sha256" not in entry:
        made["sha256"] = sha(files[f"runs/{entry['run']}/record.json"])
    return made


def real_ledger(world: World) -> Ledger:
    """The same pages read by the real ledger: the builder makes what the operator makes."""
    who = world.preregistration["cohort"]
    made = Ledger(who["name"], who["uid"])
    files = evidence(world)
    for path in sorted(files):
        if path.startswith("ledger/"):
            made.take(files[path])
    return made


# --- the package ------------------------------------------------------------------------------------------------------
def analysed(files: dict[str, bytes]) -> dict[str, bytes]:
    """What the real analysis makes of the evidence."""
    with TemporaryDirectory() as folder:
        written({f"data/{path}": data for path, data in files.items()}, Path(folder))
        report = compute(load(FolderSource(Path(folder))), Made(bag.version(), EVALUATOR_IMAGE, "production"))
    return {
        "analysis/report.json": canonical.to_bytes(report),
        "analysis/report.html": b"<!doctype html>",  # which no check reads
        "analysis/runs.csv": tables.runs_csv(report),
        "analysis/runs.parquet": tables.runs_parquet(report),
        "analysis/request.json": dump(papers.request(report)),
    }


def packaged(world: World) -> dict[str, bytes]:
    """Every file of the package, tag files too, by path."""
    files = evidence(world)
    for path, change in world.changed.items():
        changed = change(files.get(path, b""))
        if changed is None:
            files.pop(path, None)
        else:
            files[path] = changed
    files |= analysed(files)
    files["commitments.json"] = papers.commitments(world.preregistration)
    files["trust.json"] = world.trust
    return listed(world, {f"data/{path}": data for path, data in files.items()})


def evidence_paths(world: World) -> set[str]:
    """What lies in the store, and so has an address there."""
    return set(_paths(tuple(sorted(world.records)))) | set(world.blobs)


@cache
def _paths(runs: tuple[str, ...]) -> tuple[str, ...]:
    names = ("record.json", "record.sigstore.json", "evaluation.sigstore.json")
    own = ("preregistration.json", "preregistration.sigstore.json")
    ledger = [f"ledger/{number:08d}.json" for number in range(1, 200)]
    return (*own, *ledger, *(f"runs/{run}/{name}" for run in runs for name in names))


def relisted(files: dict[str, bytes], world: World | None = None, role: str = "analysis") -> dict[str, bytes]:
    """Changed files with lists that fit them, signed again by somebody who has that key."""
    payload = {path: data for path, data in files.items() if path.startswith("data/")}
    return listed(world or base(), payload, role)


def listed(world: World, files: dict[str, bytes], role: str = "analysis") -> dict[str, bytes]:
    """The payload with lists of it, signed by the analysis."""
    who = world.preregistration["cohort"]
    payload = [File.of(path.removeprefix("data/"), data) for path, data in sorted(files.items())]
    runs = {run: record["identity"]["uid"] for run, record in world.records.items()}
    keys_of = PackageLayout(Layout(), who["namespace"], who["name"], who["uid"], runs)
    stored = evidence_paths(world)
    known = [one for one in payload if one.path in stored or one.path.startswith("analysis/")]
    tags = {
        "bagit.txt": bag.BAGIT,
        "bag-info.txt": bag.bag_info(keys_of, sum(one.size for one in payload), len(payload)),
        "fetch.txt": b"".join(bag.fetch(known, keys_of, "evidence")),
        "manifest-sha256.txt": b"".join(bag.manifest(payload)),
        "VERIFY.md": bag.verify_md(),
    }
    executive = objects_in(objects_in(files.get("data/analysis/report.json", b"")).get("executive"))
    predicate = objects_in(files.get("data/analysis/request.json", b"")) | {"verdict": executive.get("verdict")}
    lists = {"tagmanifest-sha256.txt": bag.tag_manifest({name: sha(data) for name, data in tags.items()})}
    signature = signed(world, role, sorted(tags.items()), statement.PACKAGE, predicate)
    return files | tags | lists | {"manifest-sha256.txt.sigstore.json": signature}


def objects_in(what: Any) -> dict[str, Any]:
    """An object, or one written as JSON; {} for anything else, as a damaged document is."""
    try:
        found = json.loads(what) if isinstance(what, bytes) else what
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def written(files: dict[str, bytes], folder: Path) -> Path:
    for parent in {(folder / path).parent for path in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        (folder / path).write_bytes(data)
    return folder


def base() -> World:
    """A world of one's own, in which nothing is wrong."""
    return _base().copy()


@cache
def _base() -> World:
    return happened(cohort())


@cache
def good() -> dict[str, bytes]:
    """The package in which nothing is wrong."""
    return packaged(base())
