"""The gateway client against real HTTP: patience with what passes, none with what is final."""

import hashlib
import socket
from pathlib import Path

import pytest
from fairtrial_runner.testing import TOKEN, GatewayStandIn

from fairtrial import documents
from fairtrial.documents import StepNotice
from fairtrial.errors import DigestMismatch, GatewayRefused, GatewayUnavailable
from fairtrial.gateway_client import GatewayClient


@pytest.fixture
def gateway():
    with GatewayStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def client(gateway, tmp_path: Path) -> GatewayClient:
    (tmp_path / "token").write_text(TOKEN + "\n")
    return GatewayClient(gateway.url, tmp_path / "token", deadline_seconds=3, pause_max_seconds=0.05)


def test_a_bundle_is_streamed_and_checked(gateway, client, tmp_path):
    data = bytes(range(256)) * 4000
    digest = gateway.add_bundle(data)

    assert b"".join(client.get(f"/v1/bundles/{digest}", sha256=digest)) == data
    assert client.download(f"/v1/bundles/{digest}", tmp_path / "file", sha256=digest) == len(data)
    assert (tmp_path / "file").read_bytes() == data


def test_other_content_is_never_taken(gateway, client):
    digest = gateway.add_bundle(b"right")
    gateway.bundles[digest] = b"wrong"

    with pytest.raises(DigestMismatch):
        list(client.get(f"/v1/bundles/{digest}", sha256=digest))


def test_artifacts_are_stored_once_and_equal_ones_again(gateway, client, tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)

    first = client.put_artifact("agent/a", tmp_path / "file")
    again = client.put_artifact("agent/a", b"x" * 1_000_000)

    assert first == again
    assert first.sha256 == hashlib.sha256(b"x" * 1_000_000).hexdigest()
    with pytest.raises(GatewayRefused) as refused:
        client.put_artifact("agent/a", b"other")
    assert refused.value.status == 409


def test_a_step_is_told_and_its_note_named(gateway, client):
    gateway.refuse = [503]

    note = client.begin_step(2, StepNotice("two", 60, 1500))

    assert (note.name, note.size) == ("agent/steps/02.json", len(gateway.artifacts[note.name]))
    assert documents.load(StepNotice, gateway.artifacts[note.name]) == StepNotice("two", 60, 1500)
    with pytest.raises(GatewayRefused):
        client.begin_step(2, StepNotice("three", 60))


def test_what_passes_is_waited_for(gateway, client, tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    gateway.refuse = [425, 503, 500, 429, 502]

    client.put_artifact("agent/a", tmp_path / "file")

    assert gateway.artifacts["agent/a"] == b"content"


def test_a_final_refusal_carries_the_gateways_words(gateway, client):
    with pytest.raises(GatewayRefused, match="this run has no such bundle"):
        list(client.get("/v1/bundles/" + "0" * 64, sha256="0" * 64))
    assert gateway.requests == 1


def test_the_token_is_read_again_and_a_bad_one_is_final(gateway, client, tmp_path):
    gateway.refuse = [401]
    client.put_artifact("agent/a", b"x")
    (tmp_path / "token").write_text("stale")
    with pytest.raises(GatewayRefused) as refused:
        client.put_artifact("agent/b", b"x")
    assert refused.value.status == 401


def test_nobody_there_until_the_deadline_is_told(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    (tmp_path / "token").write_text(TOKEN)
    client = GatewayClient(f"http://127.0.0.1:{port}", tmp_path / "token", deadline_seconds=0.3, pause_max_seconds=0.05)

    with pytest.raises(GatewayUnavailable, match="No success"):
        client.put_artifact("agent/a", b"x")


def test_a_network_that_does_not_know_the_pod_yet_is_asked_again_sooner_than_the_kernel_would(
    gateway, client, monkeypatch
):
    """A dropped SYN is sent again after a second by the kernel; after the attempts that are short, as ever."""
    connect, waited = socket.create_connection, []

    def learning(address, timeout):
        waited.append(timeout)
        if len(waited) < 4:
            raise TimeoutError
        return connect(address, timeout=timeout)

    monkeypatch.setattr(socket, "create_connection", learning)
    digest = gateway.add_bundle(b"data")

    assert b"".join(client.get(f"/v1/bundles/{digest}", sha256=digest)) == b"data"
    assert waited == [0.1, 0.2, 0.4, client.timeout_seconds]
    assert gateway.requests == 1
