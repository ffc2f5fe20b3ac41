"""From records in the store to a signed package: time and peak memory by stage, and how both grow with the runs.

Each run has a record, two statements, a list of calls, 14 artifacts of 5 MB together and 20 model calls. Artifacts and
journals are listed and not stored: no stage reads them, which is what keeps a package cheap, and would fail if one did.
Every size is measured in a process of its own against the local S3 server.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fairtrial_analysis.examples import Came, Example, example, usual
from fairtrial_analysis.html.page import render
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.source import StoreSource
from fairtrial_analysis.package import bag
from fairtrial_analysis.package.build import Outputs, build
from fairtrial_analysis.package.gather import Shelf, gather
from fairtrial_analysis.package.noting import Noting
from fairtrial_analysis.package.publish import publish
from fairtrial_analysis.report import canonical, tables
from fairtrial_analysis.report.compute import Made, compute

from benchmarks.memory import MB, peak_mb
from fairtrial import documents
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.documents import Artifact
from fairtrial.evidence.layout import LEDGER_DIGITS, Layout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.process.garbage import collect_seldom
from fairtrial.signing import keys
from fairtrial.usage.calls import ARTIFACT as CALLS
from fairtrial.usage.calls import Call, ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.money import Cost
from local_cluster import s3

SIZES = (100, 1000, 10_000)
TASKS = 10
ARTIFACTS, ARTIFACT_BYTES, CALLS_PER_RUN = 14, 360_000, 20
ENTRIES_AT_A_LOOK = 10  # of the ledger, as the operator was seen to write it of 10,000 runs (docs/decisions/0014)
STATEMENT_BYTES = {"record.sigstore.json": 8000, "evaluation.sigstore.json": 1500}
BUCKET = "bench-package"
# As in the image of the analysis.
IMAGE = {
    "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system",
}  # fmt: skip
WRITERS = 24
GOAL_SECONDS, GOAL_MB = 60, 500


def measure() -> dict[str, Any]:
    """Stages of each size in seconds, peak memory in MB, requests to the store per run."""
    found = {}
    for runs in SIZES:
        bucket = f"{BUCKET}-{runs}"
        s3.make_bucket(bucket, lock=False)
        try:
            store = _store(bucket)
            made = _evidence(runs)
            _upload(made, store)
            command = [sys.executable, "-m", "benchmarks.package", bucket, json.dumps([*made.address, made.size])]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | IMAGE)
            found[str(runs)] = json.loads(done.stdout.splitlines()[-1])
            print(f"   {runs} runs: {found[str(runs)]}", flush=True)
        finally:
            _remove(bucket)
    return {"runs": found, "goalSeconds": GOAL_SECONDS, "goalMB": GOAL_MB}


def _one(bucket: str, namespace: str, cohort: str, uid: str, size: int) -> dict[str, Any]:
    """One package, in this process."""
    store, layout = _store(bucket), Layout()
    stages, processor, peaks = dict[str, float](), dict[str, float](), dict[str, int]()
    asked: Counter[str] = Counter()
    send = store.s3.send

    def counted(method: str, *rest: Any, **more: Any) -> Any:
        asked[method] += 1
        return send(method, *rest, **more)

    store.s3.send = counted  # type: ignore[method-assign]

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        began, used = time.perf_counter(), time.process_time()
        yield
        stages[name] = round(time.perf_counter() - began, 2)
        processor[name] = round(time.process_time() - used, 2)
        peaks[name] = peak_mb()

    collect_seldom()  # as the program does
    idle = peak_mb()
    noting = Noting(StoreSource(store, layout, (namespace, cohort, uid), size), cohort, uid)
    with stage("load"):
        loaded = load(noting, size)
    with stage("compute"):
        report, sealed = compute(loaded, Made(bag.version())), loaded.plan.document
    del loaded  # as `analyse` does: the report does without the rows
    with stage("render"):
        outputs = Outputs(
            canonical.to_bytes(report), render(report), tables.runs_csv(report), tables.runs_parquet(report)
        )
    keys_of = noting.keys(layout, namespace)
    with stage("gather"):
        gathered = gather(noting, Shelf(store, keys_of), sealed)
    with stage("build"):
        package = build(gathered, report, outputs, sealed, (keys_of, bucket))
        digests = package.digests
    with stage("publish"):
        publish(package, store, keys.of_private(Ed25519PrivateKey.generate()))
    return {
        "seconds": stages | {"all": round(sum(stages.values()), 2)},
        "cpuSeconds": processor | {"all": round(sum(processor.values()), 2)},
        "peakMB": peak_mb(),
        "peakMBAfter": peaks,
        "importedMB": idle,
        "files": package.listing.count,
        "listedGB": round(package.listing.size / 1e9, 1),
        "reportMB": round(len(outputs.report_json) / MB, 1),
        "requests": dict(asked),
        "digest": digests["manifest-sha256.txt"],
    }


# --- evidence ---------------------------------------------------------------------------------------------------------
def _evidence(runs: int) -> Example:
    lists: dict[str, bytes] = {}

    def story(task: int, arm: str, repetition: int, attempt: int) -> Came:
        came = usual(task, arm, repetition, attempt)
        return came if came.outcome == "invalid" else _with_files(came, f"{task}/{arm}/{repetition}", lists)

    made = example(story, TASKS, runs // TASKS // 2)
    for key in list(made.store.objects):
        if not key.endswith("/record.json"):
            continue
        base = key.removesuffix("record.json")
        artifacts = json.loads(made.store.objects[key])["artifacts"]
        for one in artifacts:
            if one["name"] == CALLS:
                made.store.put(f"{base}artifacts/{CALLS}", lists[one["sha256"]])
        for name, size in STATEMENT_BYTES.items() if artifacts else ():
            made.store.put(f"{base}{name}", sha256(key.encode()).encode() * (size // 64))
    return _paged(made)


def _paged(made: Example) -> Example:
    """The same with pages as an operator writes them of a large cohort: so many entries at a look, not one or two."""
    folder, store = made.layout.cohort(*made.address).ledger(), MemoryStore()
    pages = [json.loads(made.store.objects[key]) for key in made.store.keys(folder)]
    entries = [(page["at"], entry) for page in pages for entry in page["entries"]]
    first, middle, last = entries[:1], entries[1:-1], entries[-1:]
    ledger = Ledger(made.address[1], made.address[2])
    looks = [middle[at : at + ENTRIES_AT_A_LOOK] for at in range(0, len(middle), ENTRIES_AT_A_LOOK)]
    for look in (first, *looks, last):
        said = [documents.from_json(LedgerEntry, entry, "entry") for _, entry in look]
        data = ledger.page(said, look[-1][0]).to_bytes()
        store.put(f"{folder}{ledger.size + 1:0{LEDGER_DIGITS}d}.json", data)
        ledger.take(data)
    for key, data in made.store.objects.items():
        if not key.startswith(folder):
            store.put(key, data)
    return replace(made, store=store)


def _with_files(came: Came, label: str, lists: dict[str, bytes]) -> Came:
    calls = documents.dump(_calls(label))
    lists[sha256(calls)] = calls
    names = [f"agent/part-{number:02}.bin" for number in range(ARTIFACTS - 1)]
    artifacts = [Artifact(name, ARTIFACT_BYTES, sha256(f"{label}/{name}".encode())) for name in names]
    listed = [documents.to_json(one) for one in (*artifacts, Artifact(CALLS, len(calls), sha256(calls)))]
    fields = {"artifacts": listed, "usage.calls": listed[-1], "usage.leaks": {"state": "measured", "value": 0}}
    return replace(came, fields=fields)


def _calls(label: str) -> ModelCalls:
    made = []
    for number in range(CALLS_PER_RUN):
        page, journal = (sha256(f"{label}/{number}/{what}".encode()) for what in ("page", "journal"))
        name = f"{1767268800000 + number}-0000000a"
        made.append(Call(name, 1800, page, "generate", "complete", "", 200, "model", "complete", 40_000, journal))
    return ModelCalls("p", "m", made, 20, 20, {}, [], Total(20, Counters(), {}), Cost(reason="none"), ["m"])


def _upload(made: Example, store: S3Store) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda item: store.put(*item), made.store.objects.items()))


def _store(bucket: str) -> S3Store:
    return S3Store(S3Settings.from_env(os.environ | {"FAIRTRIAL_S3_BUCKET": bucket}))


def _remove(bucket: str) -> None:
    client, found = s3.client(), [{"Key": key} for key in _store(bucket).keys("")]
    for at in range(0, len(found), 1000):  # as many as one request may name
        client.delete_objects(Bucket=bucket, Delete={"Objects": found[at : at + 1000], "Quiet": True})
    client.delete_bucket(Bucket=bucket)


if __name__ == "__main__":
    namespace, cohort, uid, size = json.loads(sys.argv[2])
    print(json.dumps(_one(sys.argv[1], namespace, cohort, uid, size)))
