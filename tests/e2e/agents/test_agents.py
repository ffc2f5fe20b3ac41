"""Real agents solve a task in a pod, by a scripted model behind the gateway; what they used is known to the token."""

import base64
import json
from decimal import Decimal
from typing import Any

import pytest
import yaml

from examples.demo import agents as bundles
from examples.demo import models
from examples.demo.install import SYSTEM_NAMESPACE
from fairtrial.cli.kubectl import Kubectl
from fairtrial.evidence import layout
from local_cluster import cluster as local
from local_cluster import images
from tests.e2e.conftest import Run, World

AGENTS = tuple(image.name.removeprefix("agent-") for image in images.on_request() if image.name != images.PROVIDER)
PRICES = {"uncached_input": Decimal(3), "cached_input": Decimal("0.30"), "output": Decimal(15)}  # of a million tokens
KEY = "a-key-that-only-the-gateway-has"


class Agents:
    """Every agent's run, applied at once, each on a model of its own name, by which the provider's log tells them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.url = models.deploy(world.target, models.SCRIPTS / "parse-defect.yaml")
        for name in AGENTS:
            world.kubectl.apply(yaml.safe_dump_all(self._objects(name)))
        self._ended: dict[str, Run] = {}

    def _objects(self, name: str) -> list[dict[str, Any]]:
        run = bundles.run_of(self.world.target.images, name)
        named = run["spec"]["network"]["modelProviderRef"]
        items = models.model_providers(self.url)
        (provider,) = (one for one in items if one["metadata"]["name"] == named["name"])
        provider["metadata"]["name"] = named["name"] = f"model-{name}"
        provider["spec"]["model"]["id"] = f"model-of-{name}"
        return [*(one for one in items if one["kind"] != "ModelProvider"), provider, run]

    def reasoning_is_output(self, name: str) -> bool:
        """Whether the agent's provider counts reasoning inside output."""
        found = self.world.kubectl.get("modelproviders.fairtrial.dev", f"model-{name}")
        return bool(found["spec"]["usage"]["reasoningInsideOutput"])

    def ended(self, name: str) -> Run:
        """An agent's run, once it is recorded."""
        if name not in self._ended:
            self._ended[name] = self.world.recorded(f"{name}-parse-defect", seconds=600)
        return self._ended[name]

    def record(self, name: str) -> dict[str, Any]:
        """Its record."""
        return self.world.record(self.ended(name))

    def said(self, name: str) -> str:
        """Everything that it printed."""
        parts = [
            one["name"] for one in self.record(name)["artifacts"] if one["name"].startswith("agent/streams/stdout/")
        ]
        return "".join(self.world.artifact(self.ended(name), part).decode("utf-8", "replace") for part in parts)

    def answers(self, name: str) -> list[dict[str, Any]]:
        """What the provider says that it answered to this agent, without what it only counted."""
        seen = models.answered(self.world.target, f"model-of-{name}")
        return [one for one in seen if one["wire"] != "count_tokens"]


@pytest.fixture(scope="module")
def agents(world: World) -> Agents:
    """Builds every agent's image, the first time for minutes. The provider stays, like the chart."""
    world.target.images.update(local.load_images([*AGENTS, images.PROVIDER]))
    return Agents(world)


def measured(value: dict[str, Any]) -> Any:
    assert value["state"] == "measured", value
    return value["value"]


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_solves_the_task(agents: Agents, name: str) -> None:
    run = agents.ended(name)

    assert (run["status"]["outcome"], run["status"]["reason"]) == ("passed", "all_checks_passed")
    assert agents.world.condition(run, "IsolationProven")["status"] == "True"
    assert "I stop at step" not in agents.said(name), "the project's tests did not pass for the agent itself"


@pytest.mark.parametrize("name", AGENTS)
def test_its_usage_is_what_the_provider_told_and_its_cost_follows(agents: Agents, name: str) -> None:
    usage = agents.record(name)["usage"]

    told = [one["usage"] for one in agents.answers(name)]
    sums = {field: sum(one[field] for one in told) for field in told[0]}
    assert measured(usage["modelCalls"]) == len(told)
    assert measured(usage["uncachedInputTokens"]) == sums["uncached_input"]
    assert measured(usage["cachedInputTokens"]) == sums["cached_input"]
    beside = 0 if agents.reasoning_is_output(name) else sums["reasoning"]
    assert measured(usage["outputTokens"]) == sums["output"] - beside
    assert measured(usage["reasoningTokens"]) == sums["reasoning"]
    cost = sum(sums[field] * price for field, price in PRICES.items()) / 10**6
    assert (Decimal(measured(usage["cost"])), measured(usage["currency"])) == (cost, "USD")
    assert (usage["refusedCalls"], measured(usage["leaks"])) == ({}, 0)


@pytest.mark.parametrize("name", AGENTS)
def test_its_output_became_events(agents: Agents, name: str) -> None:
    run = agents.ended(name)

    events = [json.loads(line)["event"] for line in agents.world.artifact(run, "agent/events.jsonl").splitlines()]
    counted = json.loads(agents.world.artifact(run, "agent/interaction.json"))
    assert [event["sequence"] for event in events] == list(range(counted["events"]))
    assert {event["kind"] for event in events} >= {"tool_call", "tool_result"}
    assert counted["unreadableRecords"] == 0
    # aider prints text for people, of which only some lines mean something; mini-swe-agent edits by shell commands.
    assert counted["unknownRecords"] == 0 or name == "aider"
    assert [one["path"] for one in counted["modified"]] == ([] if name == "mini-swe-agent" else ["parse.py"])


@pytest.mark.parametrize("name", AGENTS)
def test_nobody_but_the_gateway_had_the_key(agents: Agents, name: str) -> None:
    record = agents.record(name)

    for artifact in record["artifacts"]:
        assert KEY.encode() not in agents.world.artifact(agents.ended(name), artifact["name"])
    assert KEY not in json.dumps(record)
    for found in json.loads(agents.world.artifact(agents.ended(name), "model/calls.json"))["calls"]:
        base = layout.key_of_uri(agents.ended(name)["status"]["record"]["uri"]).removesuffix("record.json")
        for file in ("exchange.json", "exchange.ftj"):
            assert KEY.encode() not in agents.world.store.get(f"{base}model/{found['exchange']}/{file}")


def test_no_pod_event_log_or_metric_has_it(agents: Agents) -> None:
    names = ",".join(("pods", "events", "configmaps", "serviceaccounts", "benchmarkruns", "modelproviders"))
    said = {names: agents.world.kubectl.run("get", names, "-o", "json")}
    system = Kubectl(None, SYSTEM_NAMESPACE)
    for part in ("operator", "gateway"):
        said[f"log of the {part}"] = system.run("logs", f"deployment/fairtrial-{part}", "--tail=-1")
    said["events and pods"] = system.run("get", "events,pods", "-o", "json")
    for pod in system.get("pods")["items"]:
        port = {"gateway": 8080, "operator": 8081}.get(pod["metadata"]["labels"].get("app.kubernetes.io/component", ""))
        if port:
            path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/pods/{pod['metadata']['name']}:{port}/proxy/metrics"
            said[path] = system.run("get", "--raw", path)

    assert sum("/metrics" in what for what in said) == 2 and all(said.values())
    forms = (KEY, base64.b64encode(KEY.encode()).decode())
    assert not [what for what, text in said.items() for form in forms if form in text]
