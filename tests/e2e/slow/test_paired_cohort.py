"""The paired cohort on real pods, a hundred runs, while its world breaks: evictions, a drained node, a kubelet and a
store that are away, an operator that is killed. At the end everything is accounted for, analysed and verified.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

import local_cluster
from examples.demo import cohorts, signing
from examples.demo.install import RELEASE, ROOT, SYSTEM_NAMESPACE
from fairtrial.cli.kubectl import Kubectl, KubectlFailed
from fairtrial.cohort import ledger as ledgers
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger
from fairtrial.cohort.schedule import Entry
from fairtrial.evidence import layout
from tests.e2e.conftest import Run, World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
NAME = "paired"
SELECTOR = f"fairtrial.dev/cohort={NAME}"
RUNS = "benchmarkruns.fairtrial.dev"
DRAINED = {"agent": "node_drained", "evaluator": "evaluator_node_drained"}
OUTAGE_SECONDS = 30
# What may befall others while the store or the kubelet is away: whoever has not started then may never start.
BYSTANDERS = {"gateway_unavailable", "node_refused", "evaluator_node_refused"}
DEADLINE_SECONDS = 2400


@dataclass
class Breaker:
    """Breaks what the cohort stands on, and notes whom it hit."""

    world: World
    cluster: local_cluster.Cluster
    hit: dict[str, str] = field(default_factory=dict)  # run → the reason that it must have
    outage: tuple[float, float] = (0.0, 0.0)  # seconds since the epoch

    def pods(self, *roles: str) -> list[Run]:
        """Pods of scheduled runs that have not ended and that nobody has told to stop."""
        chosen = f"fairtrial.dev/role in ({','.join(roles)})"
        found = patiently(self.world.kubectl, "pods", "--selector", chosen)["items"]
        return [
            pod
            for pod in found
            if pod["status"].get("phase") in ("Pending", "Running")
            and "deletionTimestamp" not in pod["metadata"]
            and "-r" not in run_of(pod)
            and run_of(pod).startswith(f"{NAME}-")
        ]

    def evict(self, role: str) -> None:
        """Evict pods of a role through the API until one of them was at work and its run is invalid."""
        for _ in range(20):
            pod = waited_for(lambda: next(iter(self.pods(role)), None), f"an {role}'s pod")
            name = pod["metadata"]["name"]
            body = {"apiVersion": "policy/v1", "kind": "Eviction"}
            body["metadata"] = {"name": name, "namespace": self.world.namespace}  # type: ignore[assignment]
            path = f"/api/v1/namespaces/{self.world.namespace}/pods/{name}/eviction"
            try:
                self.world.kubectl.run("create", "--raw", path, "-f", "-", stdin=json.dumps(body))
            except KubectlFailed:
                continue  # it has gone meanwhile
            if recorded(self.world, run_of(pod))["outcome"] == "invalid":
                self.hit[run_of(pod)] = DRAINED[role]
                return
        raise AssertionError(f"no {role} was at work when it was evicted")

    def drain(self) -> None:
        """Drain the node of whatever the cohort runs on it, and take the node back."""
        for _ in range(10):
            victims = waited_for(lambda: placed(self.pods("agent", "evaluator")), "pods at work")
            node = victims[0]["spec"]["nodeName"]
            chosen = f"fairtrial.dev/run in ({','.join(run_of(pod) for pod in victims)})"
            try:
                self.world.kubectl.run(
                    "drain", node, f"--pod-selector={chosen}", "--delete-emptydir-data", "--force", "--timeout=120s"
                )
            finally:
                waited_for(partial(uncordoned, self.world.kubectl, node), "an answer about the node")
            ended = [(pod, recorded(self.world, run_of(pod))) for pod in victims]
            lost = [(pod, status) for pod, status in ended if status["outcome"] == "invalid"]
            for pod, status in lost:
                # The agent's pod may have ended while its evaluator's was begun.
                agent_or_later = set(DRAINED.values()) if role_of(pod) == "agent" else {DRAINED["evaluator"]}
                assert status["reason"] in agent_or_later, (run_of(pod), status)
                self.hit[run_of(pod)] = status["reason"]
            if lost:
                return
        raise AssertionError("nothing was at work when the node was drained")

    def restart_kubelet(self) -> None:
        """Containers live on without it; nothing may be lost."""
        self.cluster.stop_component("kubelet")
        time.sleep(10)
        self.cluster.start_component("kubelet")

    def stop_store(self) -> None:
        """No record, no artifact and no task can be read or written for a while."""
        began = time.time()
        self.cluster.stop_component("s3")
        try:
            time.sleep(OUTAGE_SECONDS)
        finally:
            self.cluster.start_component("s3")
        self.outage = (began, time.time())

    def delete_operator(self) -> None:
        """Take the operator's pod away without a word to it."""
        system = Kubectl(None, SYSTEM_NAMESPACE)
        for pod in operator_pods(system):
            system.run("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")

    def kill_operator(self) -> None:
        """SIGKILL to the operator's process, from the node."""
        pods = waited_for(lambda: operator_pods(Kubectl(None, SYSTEM_NAMESPACE)), "the operator's pod")
        killed = [pid for pod in pods for pid in processes_of(pod["metadata"]["uid"], "fairtrial_operator")]
        assert killed
        for pid in killed:
            os.kill(pid, signal.SIGKILL)


def operator_pods(system: Kubectl) -> list[Run]:
    chosen = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=operator"
    found = patiently(system, "pods", "--selector", chosen)["items"]
    return [pod for pod in found if pod["status"].get("phase") == "Running"]


def processes_of(uid: str, program: str) -> list[int]:
    """Processes of a program in a pod, as the node sees them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            cgroup, command = (process / "cgroup").read_text(), (process / "cmdline").read_bytes().decode()
        except OSError:
            continue  # it has ended
        if (uid in cgroup or uid.replace("-", "_") in cgroup) and program in command:
            found.append(int(process.name))
    return found


def placed(pods: list[Run]) -> list[Run]:
    """Pods on the node of the first that has one."""
    node = next((pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]), None)
    return [pod for pod in pods if node and pod["spec"].get("nodeName") == node]


def run_of(pod: Run) -> str:
    return str(pod["metadata"]["labels"]["fairtrial.dev/run"])


def role_of(pod: Run) -> str:
    return str(pod["metadata"]["labels"]["fairtrial.dev/role"])


def waited_for(look: Callable[[], Any], what: str, seconds: float = 120) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"{what} did not come within {seconds} s")


def patiently(kubectl: Kubectl, *what: str) -> Any:
    """What is there, asked for until the API server answers: on a busy machine it may be away for a minute, too."""

    def ask() -> Any:
        try:
            return kubectl.get(*what)
        except KubectlFailed:
            return None

    return waited_for(ask, f"an answer about {what[0]}", seconds=300)


def uncordoned(kubectl: Kubectl, node: str) -> bool:
    try:
        return bool(kubectl.run("uncordon", node))
    except KubectlFailed:
        return False


def recorded(world: World, name: str) -> dict[str, Any]:
    """The status of a run once its record is stored."""

    def look() -> Any:
        status = patiently(world.kubectl, RUNS, name).get("status", {})
        return status if status.get("record") else None

    found: dict[str, Any] = waited_for(look, f"the record of {name}", seconds=600)
    return found


def condition(live: Run, kind: str) -> Run:
    return next((one for one in live.get("status", {}).get("conditions", []) if one["type"] == kind), {})


@dataclass(frozen=True)
class Done:
    """Everything that is left of the cohort."""

    live: Run
    book: Ledger
    planned: dict[str, Entry]
    runs: dict[str, Run]  # by name
    records: dict[str, dict[str, Any]]  # by run; each compared with the hash that the run's status names
    keys: list[str]  # of records in the store
    breaker: Breaker

    def statuses(self, outcome: str) -> dict[str, dict[str, Any]]:
        return {name: run["status"] for name, run in self.runs.items() if run["status"]["outcome"] == outcome}


@pytest.fixture(scope="module")
def done(world: World, cluster: local_cluster.Cluster) -> Done:
    """The cohort, applied, broken at fixed points of its progress, and complete."""
    cohort = cohorts.cohort_of(world.target.images, world.kubectl, NAME)
    cohort["spec"]["execution"]["parallelism"] = 3  # so that something is at work whenever something breaks
    breaker = Breaker(world, cluster)
    faults = [  # by how many runs have ended; each takes as long as several runs, and comes when the one before is over
        (4, lambda: breaker.evict("agent")),
        (8, lambda: breaker.evict("evaluator")),
        (12, breaker.delete_operator),
        (16, lambda: breaker.evict("agent")),
        (20, breaker.restart_kubelet),
        (26, breaker.stop_store),
        (34, breaker.kill_operator),
        (40, breaker.drain),
        (46, lambda: breaker.evict("evaluator")),
        (52, breaker.kill_operator),
    ]
    world.kubectl.apply(yaml.safe_dump(cohort))
    deadline = time.monotonic() + DEADLINE_SECONDS
    while condition(live := patiently(world.kubectl, cohorts.KIND, NAME), "Complete").get("status") != "True":
        assert time.monotonic() < deadline, live.get("status")
        counts = live.get("status", {}).get("counts", {})
        ended = sum(counts.get(outcome, 0) for outcome in ("passed", "failed", "invalid"))
        if faults and ended >= faults[0][0]:
            faults.pop(0)[1]()
        time.sleep(1)
    assert faults == [], "it was over before everything had broken"
    return remains(world, live, breaker)


def remains(world: World, live: Run, breaker: Breaker) -> Done:
    place = layout.Layout(world.store.settings.prefix).cohort(world.namespace, NAME, live["metadata"]["uid"])
    pages = [world.store.get(key) for key in world.store.keys(place.ledger())]
    sealed = json.loads(world.store.get(layout.key_of_uri(live["status"]["preregistrationUri"])))
    runs = {run["metadata"]["name"]: run for run in world.kubectl.get(RUNS, "--selector", SELECTOR)["items"]}
    folder = f"ns/{world.namespace}/cohorts/{NAME}/runs/"
    keys = [key for key in world.store.keys(folder) if key.endswith("/record.json")]
    return Done(
        live,
        ledgers.read(NAME, live["metadata"]["uid"], pages),
        dict(preregistration.schedule_in(sealed).by_run),
        runs,
        {name: world.record(run) for name, run in runs.items()},
        keys,
        breaker,
    )


def test_the_counts_add_up(done: Done) -> None:
    counts = {name: count for name, count in done.live["status"]["counts"].items() if count}
    invalid = len(done.statuses("invalid"))

    assert counts.pop("scheduled") == 100
    assert counts.pop("replacements") == invalid >= 5
    assert counts == {"passed": 85, "failed": 15, "invalid": invalid}
    assert Counter(run["status"]["outcome"] for run in done.runs.values()) == counts


def test_every_valid_run_came_to_what_its_name_says_whatever_broke(done: Done) -> None:
    forgets = runpy.run_path(str(ROOT / "examples/candidates/scripted/scripted.py"))["forgets"]
    for name, run in done.runs.items():
        if run["status"]["outcome"] != "invalid":
            forgot = run["spec"]["candidate"]["name"] == "one-look" and forgets(f"{name}-agent")
            assert run["status"]["outcome"] == ("failed" if forgot else "passed"), name


def test_every_victim_has_the_reason_of_what_hit_it_and_nobody_else_is_invalid(done: Done) -> None:
    found = {name: status["reason"] for name, status in done.statuses("invalid").items()}
    others = {name: reason for name, reason in found.items() if name not in done.breaker.hit}

    assert {name: found.get(name) for name in done.breaker.hit} == done.breaker.hit
    assert set(others.values()) <= BYSTANDERS, others
    assert Counter(done.breaker.hit.values())["node_drained"] >= 2
    assert Counter(done.breaker.hit.values())["evaluator_node_drained"] >= 2


def test_what_was_invalid_was_replaced_by_the_policy_alone(done: Done) -> None:
    policy = done.live["spec"]["replacement"]
    assert set(done.book.decisions) == set(done.statuses("invalid"))
    for name, decision in done.book.decisions.items():
        assert decision.code == "allowed", decision
        assert done.runs[name]["status"]["invalidity"] in policy["reasons"]
        follower = done.runs[decision.by]
        assert follower["spec"]["replaces"] == {"name": name, "uid": done.runs[name]["metadata"]["uid"]}
        assert follower["spec"]["block"] == done.runs[name]["spec"]["block"]
    assert set(done.runs) == {*done.planned, *(decision.by for decision in done.book.decisions.values())}
    cells = Counter((e.task, e.candidate) for e in (done.planned[name.split("-r")[0]] for name in done.book.decisions))
    assert max(cells.values()) <= policy["maxPerCell"]


def test_each_run_has_one_record_in_the_store_and_one_in_the_ledger(done: Done) -> None:
    assert sorted(key.split("/")[-3] for key in done.keys) == sorted(done.runs)
    assert {name: entry.sha256 for name, entry in done.book.records.items()} == {
        name: run["status"]["record"]["sha256"] for name, run in done.runs.items()
    }
    assert set(done.book.tickets) == set(done.runs)
    assert (done.book.open, done.book.lost) == ({}, {})
    assert {name: record["identity"]["uid"] for name, record in done.records.items()} == {
        name: run["metadata"]["uid"] for name, run in done.runs.items()
    }
    assert done.book.complete is not None


def test_no_run_and_no_pod_was_made_twice(world: World, done: Done) -> None:
    made = Counter(created(world.namespace, "pods"))
    runs = Counter(created(world.namespace, "benchmarkruns"))

    assert {name: runs[name] for name in done.runs} == dict.fromkeys(done.runs, 1)
    assert {name: made[f"{name}-agent"] for name in done.runs} == dict.fromkeys(done.runs, 1)
    evaluated = {name: made[f"{name}-evaluator"] for name in done.runs}
    assert set(evaluated.values()) <= {0, 1}
    assert all(evaluated[name] == 1 for name in done.runs if name not in done.statuses("invalid"))


def created(namespace: str, resource: str) -> list[str]:
    """Objects that the API server made in a namespace, by its own audit log."""
    log = Path(os.environ["KUBECONFIG"]).parent / "logs" / "audit.log"
    made = []
    with log.open() as lines:
        for line in lines:
            if f'"namespace":"{namespace}"' not in line or '"verb":"create"' not in line:
                continue
            event = json.loads(line)
            ref = event.get("objectRef", {})
            if ref.get("resource") == resource and "subresource" not in ref and event["stage"] == "ResponseComplete":
                made += [ref["name"]] if event["responseStatus"]["code"] == 201 else []
    return made


def test_it_is_analysed_and_an_auditor_finds_nothing_amiss(world: World, done: Done, tmp_path: Path) -> None:
    live = cohorts.analysed(world.kubectl, NAME, timeout_seconds=600)
    assert live["status"]["analysis"]["verdict"] == "SUPPORTED"

    folder = str(tmp_path / "package")
    for command in (
        ("fetch", NAME, "--namespace", world.namespace, "--to", folder),
        ("verify", folder, "--trust", str(signing.TRUST)),
    ):
        program = str(Path(sys.executable).with_name("fairtrial"))
        told = subprocess.run([program, *command], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr
    report = json.loads((tmp_path / "package/data/analysis/report.json").read_text())
    assert set(done.statuses("invalid")) <= set(json.dumps(report).replace('"', " ").split())


def test_the_blocks_are_comparable(done: Done) -> None:
    assert condition(done.live, "Comparable").get("status") == "True", condition(done.live, "Comparable")
