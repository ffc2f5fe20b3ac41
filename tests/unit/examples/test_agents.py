"""Every bundle of a real agent is a candidate that the API server takes, pinned like its image, on a known model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples import render
from examples.demo import agents as bundles
from examples.demo import models
from fairtrial import names, plans
from fairtrial.api import BenchmarkRun, ModelProvider
from fairtrial.documents import dump
from fairtrial.evidence.value import measured, missing
from fairtrial.testing import make_resource_class, make_task
from local_cluster import images

ROOT = Path(__file__).parents[3]
AGENTS = sorted(path.parent for path in (ROOT / "examples" / "agents").glob("*/candidate.yaml"))
IMAGES = {image.name: f"localhost/fairtrial/{image.name}@sha256:{'0' * 64}" for image in images.on_request()}
agents = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)


def run_of(agent: Path) -> BenchmarkRun:
    return BenchmarkRun.model_validate(bundles.run_of(IMAGES, agent.name))


def providers() -> dict[str, ModelProvider]:
    items = models.model_providers("http://198.51.100.1:8099")
    found = [ModelProvider.model_validate(item) for item in items if item["kind"] == "ModelProvider"]
    return {one.metadata.name: one for one in found}


@agents
def test_a_run_names_its_agent_and_a_model_provider_and_a_class_that_exist(agent: Path) -> None:
    run = run_of(agent)

    assert run.metadata.name == f"{agent.name}-parse-defect"
    assert run.spec.candidate.name == agent.name
    assert run.spec.network.model_provider_ref is not None
    assert run.spec.network.model_provider_ref.name in providers()
    assert (ROOT / "examples" / "resource-classes" / f"{run.spec.resource_class_name}.yaml").exists()


@agents
def test_an_agent_gets_its_model_its_address_and_its_key_and_no_argument_has_the_key(agent: Path) -> None:
    access = plans.GatewayAccess("http://gateway:8080", "some-model")
    plan = plans.agent_plan(run_of(agent), make_task(), make_resource_class(), probes=[], access=access)

    told = json.dumps([plan.env, plan.home_files, [step.argv for step in plan.steps]])
    assert "http://gateway:8080/model" in told
    assert "some-model" in told
    assert names.MODEL_TOKEN in json.dumps([plan.env, plan.home_files])
    assert "{modelUrl}" not in told
    assert '{model}"' not in told
    assert plans.too_large(plan) is None, len(dump(plan))


@agents
def test_an_image_installs_the_version_that_the_candidate_names_and_nothing_unpinned(agent: Path) -> None:
    version = run_of(agent).spec.candidate.version
    if agent.name.endswith(images.OVER_ACP):
        agent = agent.with_name(agent.name.removesuffix(images.OVER_ACP))

    if (agent / "package.json").exists():
        wanted = json.loads((agent / "package.json").read_text())["dependencies"]
        assert all(re.fullmatch(r"(npm:@?[\w./-]+@)?\d+\.\d+\.\d+(-linux-x64)?", pin) for pin in wanted.values())
        assert any(version in pin for pin in wanted.values())
        locked = json.loads((agent / "package-lock.json").read_text())["packages"]
        assert all("integrity" in entry for name, entry in locked.items() if name)
        assert locked[""]["dependencies"] == wanted
    else:
        pins = re.findall(r"^([\w.\[\]-]+)==(\S+)", (agent / "requirements.txt").read_text(), re.MULTILINE)
        assert version in dict(pins).values()
        assert (agent / "requirements.in").read_text().splitlines()[-1].replace("==", " ").split() in [
            list(pin) for pin in pins
        ]


@agents
def test_every_agent_has_an_image_of_its_name_on_what_the_tasks_need(agent: Path) -> None:
    (image,) = images.requested([agent.name])

    assert image.name == f"agent-{agent.name}"
    assert yaml.safe_load((agent / "candidate.yaml").read_text())["image"].endswith(f"/{image.name}")
    assert images.copied(image), "its Dockerfile copies nothing"
    assert "FROM ${BASE}" in image.dockerfile.read_text()
    assert image.on in {one.name for one in [*images.table(), *images.on_request()]}


def test_an_agent_over_the_agent_client_protocol_is_the_same_agent_with_the_client_over_it() -> None:
    (agent,) = (one for one in AGENTS if one.name == "gemini-cli-acp")
    candidate, plain = (run_of(one).spec.candidate for one in (agent, agent.with_name("gemini-cli")))
    (image,) = images.requested(["gemini-cli-acp"])

    assert (image.dockerfile, image.on) == (images.ACP, "agent-gemini-cli")
    assert (candidate.argv[0], candidate.stdin) == ("fairtrial-acp", "prompt")
    assert candidate.adapter is not None and candidate.adapter.name == "acp"
    assert (candidate.env, candidate.home_files, candidate.version) == (plain.env, plain.home_files, plain.version)


def test_nothing_that_takes_long_is_built_without_being_named() -> None:
    assert not {image.name for image in images.table()} & {image.name for image in images.on_request()}
    with pytest.raises(images.BuildFailed, match="no image nobody"):
        images.requested(["nobody"])


def test_an_unknown_agent_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SystemExit, match="there are aider"):
        bundles.run_of(IMAGES, "nobody")


def test_a_value_is_shown_or_the_reason_why_there_is_none() -> None:
    assert bundles.told(measured(5)) == "5"
    assert bundles.told(measured(("a", "b"))) == "a, b"
    assert bundles.told(missing("stream_cut")) == "(missing: stream_cut)"


def test_every_wire_has_a_provider() -> None:
    assert {one.spec.wire for one in providers().values()} == {
        "anthropicMessages", "gemini", "openaiChat", "openaiResponses"
    }  # fmt: skip


def test_another_script_makes_other_pods() -> None:
    def pods(script: str) -> Any:
        (deployment,) = (item for item in models.provider(IMAGES, script) if item["kind"] == "Deployment")
        return deployment["spec"]["template"]

    assert pods("a") == pods("a")
    assert pods("a") != pods("b")
    assert pods("a")["spec"]["containers"][0]["image"] == IMAGES["scripted-provider"]


def test_a_candidate_is_read_from_its_own_file_and_scripts_from_beside_it(tmp_path: Path) -> None:
    (tmp_path / "bundle" / "files").mkdir(parents=True)
    (tmp_path / "bundle" / "files" / "go.sh").write_text("exit 0")
    (tmp_path / "bundle" / "candidate.yaml").write_text("{name: a, image: x/b, filesFrom: files}")
    (tmp_path / "run.yaml").write_text("{kind: BenchmarkRun, spec: {candidateFrom: bundle/candidate.yaml}}")

    (run,) = render.render_file(tmp_path / "run.yaml", {"b": "x/b@sha256:1"})

    assert run["spec"] == {"candidate": {"name": "a", "image": "x/b@sha256:1", "files": {"go.sh": "exit 0"}}}
