"""What the gateway signs for evaluators, and what it never signs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fairtrial_gateway.evaluations import Evaluations

from fairtrial import documents
from fairtrial.attest import dsse
from fairtrial.attest import trust as trusts
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.documents import RunIdentity
from fairtrial.errors import SigningFailed
from fairtrial.evidence import statements
from fairtrial.evidence.layout import Layout
from fairtrial.signing import keys, storing
from fairtrial.testing import evaluation_report
from tests.unit.gateway.conftest import EVALUATOR_UID, RUN_UID, SEALED, Served

KEY = keys.of_private(Ed25519PrivateKey.from_private_bytes(b"e" * 32))
TRUST = TrustList((TrustedKey("evaluator", KEY.public),))
PATH = "/v1/artifacts/evaluation/report.json"


@pytest.fixture
async def signing(served: Served) -> AsyncIterator[Served]:
    served.gateway.artifacts._evaluations = Evaluations(served.gateway.threads, Layout(), KEY)
    yield served


def report(**changes: Any) -> bytes:
    own = {"run": RunIdentity("team", "r1", RUN_UID), "pod_uid": EVALUATOR_UID, "sealed_sha256": SEALED}
    return documents.dump(evaluation_report(**(own | changes)))


def writer(served: Served) -> str:
    return served.kubernetes.token("r1-evaluator", EVALUATOR_UID, "fairtrial/record")


async def test_a_report_is_signed_when_it_is_handed_in(signing: Served) -> None:
    data = report()

    answer = await signing.call("PUT", PATH, writer(signing), data)

    assert answer[0] == 201
    found = dsse.verify(signing.store.objects[signing.run.evaluation_statement()], TRUST, trusts.EVALUATION)
    assert found.statement == statements.evaluation(documents.load(documents.EvaluationReport, data), data)


async def test_handing_it_in_again_changes_nothing(signing: Served) -> None:
    token, data = writer(signing), report()
    await signing.call("PUT", PATH, token, data)
    before = dict(signing.store.objects)

    answer = await signing.call("PUT", PATH, token, data)

    assert (answer[0], signing.store.objects) == (200, before)


async def test_a_signature_that_failed_is_made_when_the_report_comes_again(
    signing: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, data, works = writer(signing), report(), storing.keep_statement

    def down(*_: Any) -> None:
        raise SigningFailed("the key service is down")

    monkeypatch.setattr(storing, "keep_statement", down)
    answer = await signing.call("PUT", PATH, token, data)
    assert (answer[0], answer[1]["reason"]) == (503, "SigningFailed")
    assert answer[2]["Retry-After"] == "5"
    monkeypatch.setattr(storing, "keep_statement", works)

    assert (await signing.call("PUT", PATH, token, data))[0] == 200
    assert signing.run.evaluation_statement() in signing.store.objects


FOREIGN = {
    "another run's": {"run": RunIdentity("team", "r2", RUN_UID)},
    "an earlier run's of the same name": {"run": RunIdentity("team", "r1", "another-uid")},
    "another pod's": {"pod_uid": "agent-uid"},
    "by other tests": {"sealed_sha256": "c" * 64},
    "by no tests": {"sealed_sha256": ""},
}


@pytest.mark.parametrize("changes", FOREIGN.values(), ids=FOREIGN.keys())
async def test_a_report_that_is_not_this_pods_is_stored_and_not_signed(signing: Served, changes: Any) -> None:
    answer = await signing.call("PUT", PATH, writer(signing), report(**changes))

    assert answer[0] == 201
    assert list(signing.store.objects) == [signing.run.artifact("evaluation/report.json")]


async def test_a_report_of_an_evaluation_that_broke_early_is_signed_as_that(signing: Served) -> None:
    data = report(verdict="error", sealed_sha256="", snapshot_sha256="", checks=[])

    await signing.call("PUT", PATH, writer(signing), data)

    found = dsse.verify(signing.store.objects[signing.run.evaluation_statement()], TRUST, trusts.EVALUATION)
    assert (found.statement.predicate["result"], found.statement.predicate["configuration"]) == ("WARNED", [])


@pytest.mark.parametrize("data", [b"", b"{}", b"no json", report().replace(b"passed", b"super")])
async def test_what_is_no_report_is_stored_and_not_signed(signing: Served, data: bytes) -> None:
    assert (await signing.call("PUT", PATH, writer(signing), data))[0] == 201

    assert list(signing.store.objects) == [signing.run.artifact("evaluation/report.json")]


async def test_nothing_else_is_signed(signing: Served) -> None:
    await signing.call("PUT", "/v1/artifacts/evaluation/other.json", writer(signing), report())
    await signing.call("PUT", "/v1/artifacts/agent/report.json", signing.recorder(), report())

    assert signing.run.evaluation_statement() not in signing.store.objects


async def test_an_agent_can_not_have_a_report_signed(signing: Served) -> None:
    answer = await signing.call("PUT", PATH, signing.recorder(), report())

    assert (answer[0], signing.store.objects) == (403, {})


async def test_without_a_key_nothing_is_signed(served: Served) -> None:
    assert (await served.call("PUT", PATH, writer(served), report()))[0] == 201

    assert list(served.store.objects) == [served.run.artifact("evaluation/report.json")]
