"""A canary that an agent says, in four forms, is found in what its run stored: the record is there, the package not."""

import base64
import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from examples.demo import __main__ as demo
from examples.demo import cohorts
from examples.demo.install import install
from fairtrial.cli.kubectl import Kubectl
from fairtrial.evidence import layout
from tests.e2e.conftest import Run, World, make_namespace
from tests.e2e.test_analysis import Cohort, cohort_of, fairtrial, is_analysed, said, wait

pytestmark = pytest.mark.timeout(1800)
HALVES = ("canary-laid-out/for+", f"this=test?{uuid.uuid4().hex}")
CANARY = "".join(HALVES)  # no file of a candidate holds it whole: its agent puts it together, as one that came upon it
FORMS = ("plain", "base64", "split", "percent", "committed")
ECHO = f"""
import base64, os, subprocess, sys, time, zlib
form, first, second = sys.argv[1], {HALVES[0]!r}, {HALVES[1]!r}
whole = first + second
if form.startswith("silent"):
    print("nothing to say of", first)
elif form == "plain":
    print("I found", whole)
elif form == "base64":
    print("I found", base64.b64encode(b"it: " + whole.encode()).decode())
elif form == "percent":
    print("GET /?seen=" + "".join("%%%02x" % byte for byte in whole.encode()))
elif form == "split":
    for character in whole:
        print(end=character, flush=True)
        if len(first) == whole.index(character) + 1:
            time.sleep(8)  # what came until then is stored as a piece of its own
    time.sleep(1)
elif form == "committed":
    os.makedirs(".git/objects/ab", exist_ok=True)
    with open(".git/objects/ab/cdef", "wb") as file:
        file.write(zlib.compress(b"blob 99\\0" + whole.encode()))
"""


@pytest.fixture(scope="module")
def guarded(world: World) -> Iterator[World]:
    """A namespace whose canary the gateway knows by name, and no pod and no spec by value."""
    namespace = f"e2e-secrets-{uuid.uuid4().hex[:6]}"
    make_namespace(Kubectl(), namespace)
    kubectl = Kubectl(None, namespace)
    kubectl.apply(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "canaries"},
                "stringData": {"laid-out": f"{CANARY}\n"},
            }
        )
    )
    named = {"gateway": {"canarySecrets": [{"namespace": namespace, "name": "canaries"}], "replicas": 1}}
    install(replace(world.target, values=world.target.values | named))
    demo.push_tasks(world.target, namespace)
    yield World(world.target, namespace)
    install(world.target)
    kubectl.run("delete", "namespace", namespace, "--wait=false")


def cohort_that(world: World, name: str, says: tuple[str, ...]) -> Cohort:
    """One run for each form, in a cohort that anything but its content would let be analysed."""
    made = cohort_of(world, name, stage="pilot", repetitions=1)
    spec = made["spec"]
    del spec["decisionRule"]
    spec["tasks"] = spec["tasks"][:1]
    control, treatment = spec["candidates"][0], spec["candidates"][1]
    spec["candidates"] = [
        (control if index == 0 else treatment)
        | {
            "name": form,
            "argv": ["python3", "/fairtrial/candidate/echo.py", form],
            "files": {"echo.py": ECHO},
        }
        for index, form in enumerate(says)
    ]
    return made


@pytest.fixture(scope="module")
def echoed(guarded: World) -> dict[str, Run]:
    """The cohort of those that say it, carried out; its runs by candidate."""
    cohorts.carried_out(guarded.kubectl, cohort_that(guarded, "echoed", FORMS), timeout_seconds=600)
    runs = guarded.kubectl.get("benchmarkruns.fairtrial.dev")["items"]
    return {run["spec"]["candidate"]["name"]: run for run in runs if run["spec"]["cohortRef"]["name"] == "echoed"}


@pytest.mark.parametrize("form", FORMS)
def test_it_is_found_and_the_run_has_its_record(guarded: World, echoed: dict[str, Run], form: str) -> None:
    run = echoed[form]

    record = guarded.record(run)
    scan = json.loads(guarded.artifact(run, "scan/agent.json"))
    assert scan["state"] == "done"
    where = "agent/snapshot.tar" if form == "committed" else "agent/streams/stdout"
    found = [leak for leak in scan["leaks"] if leak["artifact"] == where]
    assert {leak["name"] for leak in found} == {"canary:canaries/laid-out"}
    assert found[0]["encoding"] == (form if form in ("base64", "percent") else "plain")
    assert record["usage"]["leaks"] == {"state": "measured", "value": len(scan["leaks"])}
    assert "credential_leaked" in record["classification"]["tags"]
    assert record["classification"]["outcome"] == "failed", "what an agent says of a secret is no matter of its score"
    assert "scan/agent.json" in {artifact["name"] for artifact in record["artifacts"]}


def test_the_split_one_lies_across_two_stored_pieces(guarded: World, echoed: dict[str, Run]) -> None:
    names = [artifact["name"] for artifact in guarded.record(echoed["split"])["artifacts"]]
    pieces = sorted(name for name in names if name.startswith("agent/streams/stdout/"))
    stored = [guarded.artifact(echoed["split"], name) for name in pieces]

    assert not any(CANARY.encode() in piece for piece in stored)
    assert CANARY.encode() in b"".join(stored)


def test_no_specification_record_scan_or_log_shows_it(guarded: World, echoed: dict[str, Run]) -> None:
    shown = [json.dumps(run) for run in echoed.values()]
    shown += [json.dumps(guarded.record(run)) for run in echoed.values()]
    shown += [guarded.artifact(run, "scan/agent.json").decode() for run in echoed.values()]
    for part in ("operator", "gateway"):
        shown.append(Kubectl(None, "fairtrial-system").run("logs", f"deployment/fairtrial-{part}", "--tail=-1"))

    forms = (CANARY, base64.b64encode(CANARY.encode()).decode())
    assert not [text for text in shown for form in forms if form in text]


def test_whoever_owns_the_runs_is_told(guarded: World, echoed: dict[str, Run]) -> None:
    events = guarded.kubectl.get("events", "--field-selector", "reason=SecretFound")["items"]

    assert {event["involvedObject"]["name"] for event in events} == {run["metadata"]["name"] for run in echoed.values()}


def test_no_package_is_published_and_the_cohort_says_why_and_what_to_do(guarded: World, echoed: dict[str, Run]) -> None:
    live = wait(guarded, "echoed", lambda live: said(guarded, live) == ("False", "AnalysisFailed"))

    message = guarded.condition(live, "Analysed")["message"]
    for part in (f"in files of {len(FORMS)} runs", "Renew the secret", "analysis.withhold"):
        assert part in message
    assert not (live["status"].get("analysis") or {}).get("packageUri")
    of_cohort = layout.key_of_uri(echoed["plain"]["status"]["record"]["uri"]).partition("/runs/")[0]
    assert not [key for key in guarded.store.keys(f"{of_cohort}/") if "/packages/" in key]
    told = fairtrial("report", "echoed", "--namespace", guarded.namespace)
    assert told.returncode != 0
    assert "Renew the secret" in " ".join((told.stdout + told.stderr).split())


def test_a_cohort_that_says_nothing_of_it_is_published(guarded: World, echoed: dict[str, Run]) -> None:
    cohorts.carried_out(guarded.kubectl, cohort_that(guarded, "silent", ("silent1", "silent2")), timeout_seconds=300)

    live: dict[str, Any] = wait(guarded, "silent", is_analysed)

    assert live["status"]["analysis"]["packageUri"]
    runs = guarded.kubectl.get("benchmarkruns.fairtrial.dev")["items"]
    silent = [run for run in runs if run["spec"]["cohortRef"]["name"] == "silent"]
    assert len(silent) == 2
    for run in silent:
        scan = json.loads(guarded.artifact(run, "scan/agent.json"))
        assert (scan["state"], scan.get("leaks") or []) == ("done", [])
        assert scan["secrets"] == ["canary:canaries/laid-out"] and scan["artifacts"] > 2
        record = guarded.record(run)
        assert record["usage"]["leaks"] == {"state": "measured", "value": 0}
        assert "credential_leaked" not in record["classification"]["tags"]
