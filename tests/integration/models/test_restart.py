"""A real gateway process that is killed in the middle of an answer: its successor ends and stores what it left."""

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from fairtrial import documents
from fairtrial.documents import StepNotice
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.s3_client import S3Settings
from fairtrial.evidence.store import S3Store
from fairtrial.journal import summary
from fairtrial.journal.frames import FrameReader, Kind
from tests.integration.models.world import (
    AGENT_UID,
    MODEL,
    FakeKubernetes,
    RawProvider,
    chunked,
    post,
    raw,
    sse,
)
from tests.unit.evidence.conftest import FakeS3, Handler

REQUEST = json.dumps({"model": MODEL, "stream": True, "max_tokens": 1, "messages": []}).encode()
STREAM = sse()
RUN = Layout().run("team", "r1", "r1-uid")


@pytest.fixture
def s3() -> Iterator[FakeS3]:
    fake = FakeS3()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"fake": fake, "orders": fake}))
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield fake
    server.shutdown()
    server.server_close()
    thread.join()


class Process:
    """A gateway process with a spool."""

    def __init__(self, folder: Path, kubernetes: FakeKubernetes, s3: FakeS3) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "token").write_text("own")
        self.log = folder / f"log-{self.port}"
        self.env = os.environ | {
            "FAIRTRIAL_GATEWAY_HOST": "127.0.0.1",
            "FAIRTRIAL_GATEWAY_PORT": str(self.port),
            "FAIRTRIAL_GATEWAY_SPOOL_DIR": str(folder / "spool"),
            "FAIRTRIAL_GATEWAY_DRAIN_SECONDS": "1",
            "FAIRTRIAL_KUBERNETES_URL": kubernetes.url,
            "FAIRTRIAL_KUBERNETES_TOKEN_FILE": str(folder / "token"),
            "FAIRTRIAL_S3_ENDPOINT": s3.url,
            "FAIRTRIAL_S3_BUCKET": "bucket",
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "key",
        }

    async def start(self) -> "Process":
        with self.log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "fairtrial_gateway", env=self.env, stderr=log
            )
        for _ in range(400):
            try:
                await asyncio.to_thread(
                    lambda: urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
                )
                return self
            except OSError:
                assert self.process.returncode is None, self.log.read_text()
                await asyncio.sleep(0.05)
        raise AssertionError(self.log.read_text())

    async def end(self, number: int) -> None:
        self.process.send_signal(number)
        await self.process.wait()


async def pages(s3: FakeS3, count: int) -> list[summary.Exchange]:
    for _ in range(400):
        found = [data for key, (data, _) in sorted(s3.objects.items()) if key.endswith("/exchange.json")]
        if len(found) >= count:
            return [summary.load(data) for data in found]
        await asyncio.sleep(0.05)
    raise AssertionError(list(s3.objects))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_gateway_that_ends_in_the_middle_loses_nothing(tmp_path: Path, s3: FakeS3, number: int):
    parts = [STREAM[:300], *(STREAM[at : at + 50] for at in range(300, len(STREAM), 50))]
    async with FakeKubernetes().serving() as kubernetes, RawProvider(chunked(parts, pause=1)).serving() as provider:
        kubernetes.run()
        kubernetes.secret()
        kubernetes.provider(provider.url, "anthropicMessages")
        token = kubernetes.token("r1-agent", AGENT_UID)
        first = await Process(tmp_path, kubernetes, s3).start()
        _, writer = await asyncio.open_connection("127.0.0.1", first.port)
        writer.write(post("/model/v1/messages", REQUEST, f"x-api-key: {token}"))
        await asyncio.sleep(1.5)
        await first.end(number)
        writer.close()
        if number == signal.SIGKILL:
            (left,) = (tmp_path / "spool").glob("*.ftj")
            with left.open("ab") as file:
                file.write(b"\x06\x00\x00\x00\x00\x00")  # as if the kill had struck in the middle of a frame
        second = await Process(tmp_path, kubernetes, s3).start()
        (page,) = await pages(s3, 1)
        provider.answer = chunked(parts)
        await raw(second.port, post("/model/v1/messages", REQUEST, f"x-api-key: {token}"))
        assert len(await pages(s3, 2)) == 2
        await second.end(signal.SIGTERM)

    assert page.ending == "gateway_restarted"
    assert (page.status, page.requested_model, page.answered_model) == (200, MODEL, MODEL)
    assert (page.usage.state, page.usage.counters.uncached_input, page.usage.counters.output) == ("incomplete", 10, 1)
    assert page.leak_scan == "done"
    assert list((tmp_path / "spool").iterdir()) == []
    store = S3Store(S3Settings(s3.url, "bucket", "id", "key"))
    journal = store.open(RUN.exchange(page.exchange, "exchange.ftj"))
    file = tmp_path / "journal"
    file.write_bytes(b"".join(journal))
    with file.open("rb") as opened:
        reader = FrameReader(opened)
        frames = list(reader)
    assert reader.stop is not None and reader.stop.why == "end"
    received = b"".join(frame.payload for frame in frames if frame.kind == Kind.RESPONSE_BODY)
    assert received and STREAM.startswith(received)
    assert [frame.kind for frame in frames][-2:] == [Kind.ENDED, Kind.SCANNED]
    store.close()
    assert "sk-the-real-credential" not in first.log.read_text() + second.log.read_text()
    assert token not in first.log.read_text() + second.log.read_text()


async def test_a_secret_that_may_no_longer_be_read_keeps_no_gateway_from_starting(tmp_path: Path, s3: FakeS3):
    parts = [STREAM[:300], *(STREAM[at : at + 50] for at in range(300, len(STREAM), 50))]
    async with FakeKubernetes().serving() as kubernetes, RawProvider(chunked(parts, pause=1)).serving() as provider:
        kubernetes.run()
        kubernetes.secret()
        kubernetes.provider(provider.url, "anthropicMessages")
        token = kubernetes.token("r1-agent", AGENT_UID)
        first = await Process(tmp_path, kubernetes, s3).start()
        _, writer = await asyncio.open_connection("127.0.0.1", first.port)
        writer.write(post("/model/v1/messages", REQUEST, f"x-api-key: {token}"))
        await asyncio.sleep(1.5)
        await first.end(signal.SIGKILL)
        writer.close()
        kubernetes.forbidden.add("secrets")

        second = await Process(tmp_path, kubernetes, s3).start()

        (page,) = await pages(s3, 1)
        await second.end(signal.SIGTERM)
    assert (page.ending, page.leak_scan) == ("gateway_restarted", "failed")
    assert "providerSecrets" in second.log.read_text()


async def test_a_gateway_that_is_killed_knows_the_step_again_and_what_it_has_used(tmp_path: Path, s3: FakeS3):
    async with FakeKubernetes().serving() as kubernetes, RawProvider(chunked([STREAM])).serving() as provider:
        kubernetes.run(limits={"perStep": {"modelCalls": 1}})
        kubernetes.secret()
        kubernetes.provider(provider.url, "anthropicMessages")
        agent, recorder = (
            kubernetes.token("r1-agent", AGENT_UID, f"fairtrial/{use}") for use in ("provider", "record")
        )
        call = post("/model/v1/messages", REQUEST, f"x-api-key: {agent}")

        def step(number: int, name: str) -> bytes:
            notice = documents.dump(StepNotice(name, 600))
            put = post(f"/v1/steps/{number}", notice, f"Authorization: Bearer {recorder}")
            return put.replace(b"POST", b"PUT", 1)

        first = await Process(tmp_path, kubernetes, s3).start()
        told = [await raw(first.port, step(1, "one")), await raw(first.port, step(2, "two"))]
        answered = await raw(first.port, call)
        await pages(s3, 1)
        await first.end(signal.SIGKILL)
        second = await Process(tmp_path, kubernetes, s3).start()
        refused = await raw(second.port, call)
        again = await raw(second.port, step(2, "two"))
        await second.end(signal.SIGTERM)

    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in (*told, answered))
    assert refused.startswith(b"HTTP/1.1 400 ") and b"budget_exhausted: step two" in refused
    assert again.partition(b"\r\n\r\n")[2] == told[1].partition(b"\r\n\r\n")[2]
    assert [(page.step, page.refusal) for page in await pages(s3, 2)] == [("two", ""), ("two", "budget_step_calls")]
