"""Who fetches a bundle gives up when its plan says so, and not when the kubelet does."""

from pathlib import Path
from typing import Any

import fairtrial_evaluator.fetch
import fairtrial_runner.record
import pytest
from fairtrial_runner.places import Places

from fairtrial import names
from fairtrial.documents import AgentPlan, EvaluationPlan, RunIdentity, dump
from fairtrial.errors import GatewayUnavailable
from fairtrial.gateway_client import GatewayClient

RUN = RunIdentity("team", "run", "uid")


def asked_for(part: Any, plan: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[float]]:
    """The exit code of one container that finds no gateway, and how long it was told to try."""
    asked: list[float] = []

    def from_env(*, deadline_seconds: float) -> None:
        asked.append(deadline_seconds)
        raise GatewayUnavailable("nobody there")

    monkeypatch.setenv(names.ENV_PLAN, dump(plan).decode())
    monkeypatch.setattr(GatewayClient, "from_env", from_env)
    monkeypatch.setattr(part.failure, "report", lambda *_: None)
    return part.main(), asked


def test_an_evaluators_fetch_tries_as_long_as_the_plan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = EvaluationPlan(RUN, "a" * 64, "b" * 64, "agent/snapshot.tar", "c" * 64, fetch_seconds=7)

    code, asked = asked_for(fairtrial_evaluator.fetch, plan, monkeypatch)

    assert (code, asked) == (fairtrial_evaluator.fetch.failure.TEMPORARY, [7])


def test_an_agents_recorder_fetches_as_long_as_the_plan_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Places, "in_pod", lambda: Places.below(tmp_path))
    monkeypatch.setattr(fairtrial_runner.record.signal, "signal", lambda *_: None)

    _, asked = asked_for(fairtrial_runner.record, AgentPlan(RUN, "a" * 64, [], fetch_seconds=7), monkeypatch)

    assert asked == [7]
