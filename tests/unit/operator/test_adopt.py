"""What stands in the way of a pod: one of its name, a quota, or the API server's own rules."""

import asyncio
import random
from typing import Any

import pytest
from fairtrial_operator.apply import Applier
from fairtrial_operator.cache import Key
from fairtrial_operator.kube import AlreadyExists, ApiError, Forbidden, Invalid, NotFound
from fairtrial_operator.observe import Notes
from fairtrial_operator.seen import CreatePod, Refused
from fairtrial_operator.state import State
from fairtrial_operator.workqueue import WorkQueue

from fairtrial.testing import make_run

RUN = make_run()
NAMESPACE, NAME = RUN.metadata.namespace, f"{RUN.metadata.name}-evaluator"
QUOTA = Forbidden(403, "Forbidden", "exceeded quota: pods")


class Server:
    """Refuses every pod, and has one of that name or none."""

    def __init__(self, refusal: ApiError, owner: str | None) -> None:
        self.refusal, self.owner = refusal, owner

    async def create(self, *_: Any) -> Any:
        raise self.refusal

    async def get(self, _: Any, name: str, namespace: str) -> Any:
        if self.owner is None:
            raise NotFound(404, "NotFound", name)
        owners = [{"uid": self.owner, "controller": True}]
        metadata = {"name": name, "namespace": namespace, "uid": "p", "resourceVersion": "9", "ownerReferences": owners}
        return {"metadata": metadata, "spec": {}, "status": {"phase": "Succeeded"}}


def create(refusal: ApiError, owner: str | None) -> tuple[State, Notes]:
    server: Any = Server(refusal, owner)
    nobody: Any = None
    state, notes = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(0))), Notes()
    state.accounts.add(NAMESPACE)
    action = CreatePod("evaluator", {"metadata": {"name": NAME, "namespace": NAMESPACE}})
    asyncio.run(Applier(server, nobody, "bucket", state, nobody).apply(RUN, {}, action, notes))
    return state, notes


@pytest.mark.parametrize("refusal", [QUOTA, AlreadyExists(409, "AlreadyExists", NAME), Invalid(422, "Invalid", "x")])
def test_a_pod_of_this_run_is_taken_over_whatever_the_refusal_says(refusal: ApiError) -> None:
    state, notes = create(refusal, RUN.metadata.uid)

    assert state.pods.get(Key(NAMESPACE, NAME)) is not None
    assert notes.refused == {}


@pytest.mark.parametrize("refusal", [QUOTA, AlreadyExists(409, "AlreadyExists", NAME)])
def test_a_strangers_pod_is_named_and_not_taken_over(refusal: ApiError) -> None:
    state, notes = create(refusal, "stranger")

    assert state.pods.get(Key(NAMESPACE, NAME)) is None
    assert notes.refused["evaluator"].why == "taken"
    assert f"delete pod {NAME}" in notes.refused["evaluator"].message


@pytest.mark.parametrize(
    ("refusal", "why", "account"),
    [
        (QUOTA, "quota", True),
        (Forbidden(403, "Forbidden", "violates PodSecurity"), "forbidden", True),
        (Forbidden(403, "Forbidden", "error looking up service account"), "forbidden", False),
        (Invalid(422, "Invalid", "spec.containers"), "invalid", True),
    ],
)
def test_where_there_is_no_pod_the_refusal_stands(refusal: ApiError, why: Any, account: bool) -> None:
    state, notes = create(refusal, None)

    assert notes.refused == {"evaluator": Refused(why, refusal.message)}
    assert (NAMESPACE in state.accounts) is account


def test_a_pod_that_was_in_the_way_and_is_gone_is_no_refusal() -> None:
    _, notes = create(AlreadyExists(409, "AlreadyExists", NAME), None)

    assert notes.refused == {}
