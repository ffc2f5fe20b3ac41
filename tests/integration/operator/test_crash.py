"""The operator dies just before and just after every single mutating call of a run's life; the end is the same."""

import asyncio
import json
from pathlib import Path
from typing import Any

from fairtrial_operator.decide_record import record_of
from fairtrial_operator.kube import PODS
from fairtrial_operator.seen import Report

from fairtrial import names
from fairtrial.api import BenchmarkRun, parse
from fairtrial.attest import dsse
from fairtrial.documents import AgentReport, Artifact, EvaluationReport, RunIdentity, load
from fairtrial.evidence import statements
from fairtrial.evidence.record import load_record
from fairtrial.journal import summary
from fairtrial.journal.summary import Exchange
from fairtrial.usage.calls import ARTIFACT, ModelCalls
from fairtrial.usage.counters import Counters, Usage

MOST_CALLS = 13  # of an undisturbed life: ten to the API server, list of model calls, signed statement, and record
DIED = 86


async def life(world: Any, kubelet: Any, name: str) -> Any:
    live = await world.create(name, network={"modelProviderRef": {"name": "provider-1"}})
    await asyncio.to_thread(model_call, world, live)
    await kubelet.start(f"{name}-agent", "agent")
    await world.when(name, lambda s: world.condition(s, "AgentStarted")[0] == "True", "runs")
    pod = await kubelet.pod(f"{name}-agent")
    await asyncio.to_thread(kubelet.report_agent, live, pod)
    await kubelet.end(f"{name}-agent", "agent")
    await kubelet.evaluator(live)
    return await world.released(name)


def model_call(world: Any, live: Any) -> None:
    """What the gateway leaves of one call."""
    identity = RunIdentity(world.namespace, live["metadata"]["name"], live["metadata"]["uid"])
    counters = Counters(all_input=7, uncached_input=7, cached_input=0, output=3, reasoning=0, total=10)
    page = Exchange(
        "1767268800000-0000000a",
        identity,
        "provider-1",
        "openaiChat",
        "/v1/chat/completions",
        "2026-01-01T12:00:00.000Z",
        "complete",
        status=200,
        answered_model="model-1",
        first_usable=True,
        usage=Usage("complete", "", counters),
    )
    world.store.put(world.layout(live).exchange(page.exchange, "exchange.json"), summary.dump(page))


def timeless(record: Any) -> Any:
    """A record without what differs between any two runs: identities and times."""
    return {
        "classification": record["classification"],
        "evaluation": record["evaluation"],
        "interaction": record["interaction"],
        "patch": record["patch"],
        "tokens": record["usage"]["totalTokens"],
        "isolation": record["isolation"],
        "configuration": record["configuration"],
        "artifacts": [one["name"] for one in record["artifacts"]],
        "times": sorted(record["timings"]["timestamps"]),
        "images": record["environment"]["resolvedImages"],
    }


def assembled_again(world: Any, live: Any) -> bytes:
    keys = world.layout(live)
    found: list[Report] = []
    reports = (
        ("agent/report.json", AgentReport, "agent"),
        ("evaluation/report.json", EvaluationReport, "evaluation"),
        (ARTIFACT, ModelCalls, "calls"),
    )
    for name, kind, field in reports:
        stored = world.store.head(keys.artifact(name))
        artifact = Artifact(name, stored.size, stored.sha256)
        document: Any = load(kind, world.store.get(keys.artifact(name)))
        found.append(Report("present", artifact=artifact, **{field: document}))
    return record_of(parse(BenchmarkRun, live), *found).to_bytes()


def created_pods(world: Any) -> list[str]:
    """Pods that the API server made in this namespace, by its own audit log."""
    log = Path(world.environ["KUBECONFIG"]).parent / "logs" / "audit.log"
    made = []
    for line in log.read_text().splitlines():
        if f'"namespace":"{world.namespace}"' not in line or '"verb":"create"' not in line:
            continue
        event = json.loads(line)
        ref = event.get("objectRef", {})
        if ref.get("resource") == "pods" and "subresource" not in ref and event["stage"] == "ResponseComplete":
            made += [ref["name"]] if event["responseStatus"]["code"] == 201 else []
    return made


async def test_dying_at_any_call_changes_nothing(world: Any, kubelet: Any, operators: Any) -> None:
    operator = operators().start()
    undisturbed = await life(world, kubelet, "undisturbed")
    assert operator.stop() == 0
    calls = len(world.calls())
    assert 9 <= calls <= MOST_CALLS, world.calls()
    assert [what[1].rpartition("/")[2] for what in world.calls() if what[0] == "S3"] == [
        "calls.json",
        "record.sigstore.json",
        "record.json",
    ]
    expected = timeless(json.loads(world.record(undisturbed)))

    points = [(moment, number) for number in range(1, calls + 1) for moment in ("before", "after")]
    # Each successor finishes the run that its predecessor died of, and dies of the next.
    deaths = [f"{moment}-{number} {moment} {number}" for moment, number in points]
    doomed = operators().start(FAIRTRIAL_TEST_CRASH=deaths[0])
    for (moment, number), next_death in zip(points, [*deaths[1:], "- - 0"], strict=True):
        name = f"{moment}-{number}"
        living = asyncio.create_task(life(world, kubelet, name))
        assert await doomed.died() == DIED, f"no crash at {name}"
        doomed = operators().start(FAIRTRIAL_TEST_CRASH=next_death)
        done = await living

        stored = world.record(done)
        record = load_record(stored)
        assert timeless(json.loads(stored)) == expected, name
        assert stored == assembled_again(world, done), name
        signed = dsse.verify(world.store.get(world.layout(done).record_statement()), world.trust, ["operator"])
        assert signed.statement == statements.provenance(record, stored), name
        assert done["status"]["record"]["sha256"] == world.store.head(world.layout(done).record()).sha256
        assert record.pods.agent is not None
        assert record.pods.agent.uid == done["status"]["agentPod"]["uid"]

    runs = ["undisturbed", *(f"{moment}-{number}" for moment, number in points)]
    assert sorted(created_pods(world)) == sorted(f"{run}-{role}" for run in runs for role in ("agent", "evaluator"))
    for pod in await world.all(PODS):
        assert names.POD_FINALIZER not in pod["metadata"].get("finalizers", [])
