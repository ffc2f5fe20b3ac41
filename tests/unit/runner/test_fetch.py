"""The init containers of both pods give up when their plan says so, and not when the kubelet does."""

from types import ModuleType
from typing import Any

import fairtrial_evaluator.fetch
import fairtrial_runner.fetch
import pytest

from fairtrial import names
from fairtrial.documents import AgentPlan, EvaluationPlan, RunIdentity, dump
from fairtrial.errors import GatewayUnavailable

RUN = RunIdentity("team", "run", "uid")
AGENT = AgentPlan(RUN, "a" * 64, [], fetch_seconds=7)
EVALUATION = EvaluationPlan(RUN, "a" * 64, "b" * 64, "agent/snapshot.tar", "c" * 64, fetch_seconds=7)


@pytest.mark.parametrize(
    ("fetch", "plan"), [(fairtrial_runner.fetch, AGENT), (fairtrial_evaluator.fetch, EVALUATION)], ids=["agent", "eval"]
)
def test_a_gateway_that_does_not_answer_is_waited_for_as_long_as_the_plan_says(
    fetch: ModuleType, plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def from_env(*, deadline_seconds: float) -> None:
        asked.append(deadline_seconds)
        raise GatewayUnavailable("nobody there")

    monkeypatch.setenv(names.ENV_PLAN, dump(plan).decode())
    monkeypatch.setattr(fetch.GatewayClient, "from_env", from_env)
    monkeypatch.setattr(fetch.failure, "report", lambda *_: None)

    assert fetch.main() == fetch.failure.TEMPORARY
    assert asked == [7]
