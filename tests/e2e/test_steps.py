"""Budgets of a run's steps, in a real pod: the gateway is told of each step by the recorder, and by nobody else."""

import copy
import json
from typing import Any

import pytest
import yaml

from examples.demo import models
from local_cluster import cluster as local
from local_cluster import images
from tests.e2e.conftest import World

# Three calls in each step; and before them an attempt to begin the next step with the token that the agent has.
AGENT = """
import json, os, sys, urllib.error, urllib.request

def ask(method, url, body):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["TOKEN"]}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code

model, url = sys.argv[1:]
notice = {"name": "two", "wallSeconds": 600, "schemaVersion": 1}
begun = ask("PUT", url.removesuffix("/model") + "/v1/steps/2", notice)
chat = {"model": model, "messages": [{"role": "user", "content": "Go on."}]}
called = [ask("POST", url + "/v1/chat/completions", chat) for _ in range(3)]
print(os.environ["FAIRTRIAL_STEP"], begun, *called)
"""


@pytest.fixture(scope="module")
def provider(world: World) -> str:
    """The scripted provider's address."""
    world.target.images.update(local.load_images([images.PROVIDER]))
    return models.deploy(world.target, models.SCRIPTS / "parse-defect.yaml")


def two_steps(world: World) -> dict[str, Any]:
    """A pushed task, asked for in two steps."""
    pushed = world.kubectl.get("benchmarktasks.fairtrial.dev", "parse-defect-v1")
    spec = copy.deepcopy(pushed["spec"])
    spec["steps"] = [{"name": name, "prompt": "Call the model.", "wallSeconds": 60} for name in ("one", "two")]
    return {key: pushed[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": "two-steps"}, "spec": spec}


def test_what_a_step_has_used_up_the_next_one_has_and_the_outcome_names_both(world: World, provider: str) -> None:
    run = world.example("noop-parse-defect", "steps-of-two-calls")
    run["spec"]["taskRef"] = {"name": "two-steps"}
    run["spec"]["limits"] = {"perStep": {"modelCalls": 2}}
    run["spec"]["network"] = {"modelProviderRef": {"name": "scripted-chat"}}
    run["spec"]["candidate"] |= {
        "argv": ["python3", "-c", AGENT, "{model}", "{modelUrl}"],
        "env": [{"name": "TOKEN", "value": "{modelToken}"}],
    }
    world.kubectl.apply(yaml.safe_dump_all([*models.model_providers(provider), two_steps(world), run]))

    ended = world.recorded("steps-of-two-calls")

    status, record = ended["status"], world.record(ended)
    said = [one["name"] for one in record["artifacts"] if one["name"].startswith("agent/streams/stdout/")]
    printed = "".join(world.artifact(ended, name).decode() for name in said)
    notes = [json.loads(world.artifact(ended, f"agent/steps/0{number}.json")) for number in (1, 2)]
    assert printed.splitlines() == ["one 403 200 200 400", "two 403 200 200 400"]
    assert [note["name"] for note in notes] == ["one", "two"]
    assert (status["outcome"], status["cause"], status["reason"]) == ("failed", "budget_exhausted", "model_budget")
    assert status["message"].endswith("Used up: budget_step_calls in step one, budget_step_calls in step two.")
    assert record["usage"]["modelCalls"]["value"] == 4
    assert record["usage"]["refusedCalls"] == {"budget_step_calls": 2}
