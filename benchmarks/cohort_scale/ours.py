"""Our operator, as a process from this checkout, carries out one sealed cohort."""

import asyncio
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from fairtrial_operator.kube import COHORTS, ApiUnavailable, Kube, Object

from benchmarks.cohort_scale.control_plane import OPERATOR_HEALTH, ControlPlane
from benchmarks.cohort_scale.objects import COHORT, GATEWAY, IMAGE, NAMESPACE, SYSTEM, cohort, prepare, prepare_runs
from benchmarks.cohort_scale.processes import Process
from fairtrial.cohort import ledger as ledgers
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.store import S3Settings, S3Store
from local_cluster import s3
from local_cluster.s3 import Credentials

USERS = ("operator",)
STEADY_SECONDS = 2.0


class Operator:
    """The operator's process, which may be killed and started again; what it used is added up."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane, self.cpu, self.peak, self.rss, self.deaths = plane, 0.0, 0.0, 0.0, 0
        self._process: Process | None = None

    def start(self) -> None:
        """Start it; it is ready when it has the Lease and its lists."""
        env = self._plane.environment("operator") | {
            "FAIRTRIAL_NAMESPACE": SYSTEM,
            "FAIRTRIAL_RUNNER_IMAGE": IMAGE,
            "FAIRTRIAL_EVALUATOR_IMAGE": IMAGE,
            "FAIRTRIAL_GATEWAY_URL": GATEWAY,
            "FAIRTRIAL_IDENTITY": "operator-0",  # as in a pod that is restarted in place: the Lease is still its own
            "FAIRTRIAL_HEALTH_PORT": str(OPERATOR_HEALTH),
            "MALLOC_ARENA_MAX": "2",  # as in its image
        }
        self._process = self._plane.run("operator", [sys.executable, "-m", "fairtrial_operator"], env)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, and note what it used."""
        assert self._process is not None
        self.note()
        used = self._process.usage()
        self.cpu += used.cpu
        self._process.stop(number)

    def begin(self) -> None:
        """Leave out of account what its start took: it is the same for any number of runs."""
        assert self._process is not None
        self.note()
        self.cpu = -self._process.usage().cpu

    def note(self) -> None:
        """Note its memory."""
        assert self._process is not None
        used = self._process.usage()
        self.peak, self.rss = max(self.peak, used.peak), used.rss

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.running

    def metrics(self) -> dict[str, float]:
        """Its metrics without labels; empty while it does not answer."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{OPERATOR_HEALTH}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except (urllib.error.URLError, OSError):
            return {}
        return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.e+-]+)$", text, re.MULTILINE)}

    async def steady(self, patience: float = 300.0) -> float:
        """Seconds until it leads, its queue is empty and no reconciliation was done for a while (not counted)."""
        begun = time.monotonic()
        last, since = -1.0, begun
        while time.monotonic() - begun < patience:
            await asyncio.sleep(0.1)
            if not self.running:
                raise RuntimeError("the operator has died; see its log")
            found = await asyncio.to_thread(self.metrics)
            worked = found.get("fairtrial_reconcile_seconds_count", -1.0)
            idle = found.get("fairtrial_leading") == 1 and found.get("fairtrial_queue_depth") == 0
            if worked != last or not idle or worked < 1:
                last, since = worked, time.monotonic()
            elif time.monotonic() - since > STEADY_SECONDS:
                return since - begun
        raise RuntimeError(f"the operator did not come to rest in {patience} s")


async def run(plane: ControlPlane, kube: Kube, runs: int, parallelism: int, kill_every: float) -> dict[str, Any]:
    """Carry out a cohort of `runs`, killing the operator every so many seconds if asked; then restart it once more."""
    settings = S3Settings.from_env(plane.environment("client"))
    keys = Credentials(settings.access_key, settings.secret_key)
    s3.client_at(settings.endpoint, keys).create_bucket(Bucket=settings.bucket)
    store = S3Store(settings)
    await prepare(kube)
    await prepare_runs(kube)
    plane.run("recorder", [sys.executable, "-m", "benchmarks.cohort_scale.recorder"], plane.environment("recorder"))
    operator = Operator(plane)
    operator.start()
    await operator.steady()
    operator.begin()
    base = operator.rss
    before, begun = plane.stored_bytes(), time.monotonic()
    await kube.create(COHORTS, cohort(runs, parallelism))
    done = await _complete(kube, operator, kill_every)
    took = time.monotonic() - begun
    operator.stop()
    stored = plane.stored_bytes() - before
    found = {
        "secondsToComplete": round(took, 2),
        "operatorCpuSecondsPer1000": round(operator.cpu / runs * 1000, 2),
        "operatorIdleMB": round(base, 1),
        "operatorPeakMB": round(operator.peak, 1),
        "operatorMBPer1000": round((operator.peak - base) / runs * 1000, 2),
        "etcdBytesPerUnit": round(stored / runs),
        "deaths": operator.deaths,
        **_account(store, done, runs),
    }
    operator.start()
    found["restartToSteadySeconds"] = round(await operator.steady(), 2)
    operator.note()
    found["restartedMB"] = round(operator.rss, 1)
    store.close()
    return found


async def _complete(kube: Kube, operator: Operator, kill_every: float) -> Object:
    killed = time.monotonic()
    while True:
        await asyncio.sleep(0.25)
        try:
            live = await kube.get(COHORTS, COHORT, NAMESPACE)
        except ApiUnavailable:  # busy: asked again in a moment
            continue
        conditions = {one["type"]: one["status"] for one in live.get("status", {}).get("conditions", ())}
        if conditions.get("Complete") == "True":
            return live
        if conditions.get("Accepted") == "False":
            raise RuntimeError(f"the cohort is refused: {live['status'].get('message')}")
        if kill_every and time.monotonic() - killed > kill_every:
            operator.stop(signal.SIGKILL)
            operator.deaths += 1
            operator.start()
            killed = time.monotonic()
        if not operator.running:
            raise RuntimeError("the operator has died; see its log")


def _account(store: S3Store, live: Object, runs: int) -> dict[str, Any]:
    """What is in the store, read as an auditor would: every run recorded once, or what is missing."""
    metadata = live["metadata"]
    keys = store.keys(Layout("").cohort(metadata["namespace"], metadata["name"], metadata["uid"]).ledger())
    ledger = ledgers.read(metadata["name"], metadata["uid"], [store.get(key) for key in keys])
    folder = f"ns/{NAMESPACE}/cohorts/{COHORT}/runs/"
    records = sum(key.endswith("/record.json") for key in store.keys(folder))
    return {
        "passed": live["status"]["counts"].get("passed", 0),
        "recordsStored": records,
        "recordsInLedger": len(ledger.records),
        "ledgerPages": len(keys),
        "lost": runs - len(ledger.records) + len(ledger.lost),
        "duplicateRecords": records - len(ledger.records),
    }
