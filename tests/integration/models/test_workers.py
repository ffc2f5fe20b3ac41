"""The process that stores exchanges: it does what threads do, is started again when it dies, ends with its gateway."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from fairtrial_gateway.models.recording import Recording, request_head
from fairtrial_gateway.models.spool import Spool
from fairtrial_gateway.models.storing import Ended
from fairtrial_gateway.models.workers import NotStoredNow, Process

from fairtrial.documents import RunIdentity
from fairtrial.journal import summary
from fairtrial.journal.exchange import Started
from fairtrial.journal.summary import Exchange
from tests.integration.models.test_restart import s3  # noqa: F401 — a fixture
from tests.unit.evidence.conftest import FakeS3

RUN = RunIdentity("team", "r1", "uid")
SECRET = b"sk-the-real-credential"


def recorded(folder: Path, number: int) -> Ended:
    """An exchange that is over, whose answer holds a secret."""
    name = f"170000000000{number}-0badcafe"
    started = Started(name, RUN, "p", "openaiChat", "/v1/chat/completions", "2026-01-01T12:00:00.000Z")
    recording = Recording(Spool(folder, 10**6), started, request_head("POST", "/", "1.1", []))
    recording.response_head(200, "", "1.1", [])
    recording.response_body(b"x" + SECRET)
    page = Exchange(name, RUN, "p", "openaiChat", "/", "2026-01-01T12:00:00.000Z", "complete")
    recording.ended(page)
    return Ended(recording.file.path, {"provider-credential": SECRET}, started, page)


@pytest.fixture
def environment(s3: FakeS3, monkeypatch: pytest.MonkeyPatch) -> FakeS3:  # noqa: F811
    for name, value in {
        "FAIRTRIAL_S3_ENDPOINT": s3.url,
        "FAIRTRIAL_S3_BUCKET": "bucket",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "key",
    }.items():
        monkeypatch.setenv(name, value)
    return s3


async def test_it_stores_scans_and_says_what_it_found(tmp_path: Path, environment: FakeS3):
    process = Process(2)
    ended = recorded(tmp_path, 1)
    await process.started(ended.started)
    assert await process.ended(ended) == 1
    assert await process.ended(ended) == 1  # again, as after a crash: the same objects
    await process.close()

    files = {key.rsplit("/", 1)[1]: data for key, (data, _) in environment.objects.items()}
    assert set(files) == {"started.json", "exchange.ftj", "exchange.json"}
    page = summary.load(files["exchange.json"])
    assert page.leaks[0].name == "provider-credential" and page.journal is not None
    assert page.journal.size == len(files["exchange.ftj"])
    assert SECRET not in files["exchange.json"]


async def test_what_the_journal_says_need_not_be_told(tmp_path: Path, environment: FakeS3):
    process, ended = Process(1), recorded(tmp_path, 1)
    assert await process.ended(Ended(ended.path, ended.secrets)) == 1

    bare = tmp_path / "1700000000002-0badcafe.ftj"
    bare.write_bytes(b"")
    with pytest.raises(NotStoredNow, match="Unfinished"):
        await process.ended(Ended(bare, {}))
    await process.close()

    assert {key.rsplit("/", 1)[1] for key in environment.objects} == {"exchange.ftj", "exchange.json"}


async def test_a_store_that_refuses_is_told(tmp_path: Path, environment: FakeS3):
    process = Process(1)
    environment.order("PutObject", "AccessDenied", 403, times=1)

    with pytest.raises(NotStoredNow, match="StoreError"):
        await process.ended(recorded(tmp_path, 1))
    assert await process.ended(recorded(tmp_path, 2)) == 1
    await process.close()


async def test_it_is_started_again_when_it_dies(tmp_path: Path, environment: FakeS3):
    process = Process(1)
    await process.started(recorded(tmp_path, 1).started)
    assert process._process
    first = process._process.pid
    os.kill(first, signal.SIGKILL)
    ended = recorded(tmp_path, 2)
    for _ in range(100):
        try:
            assert await process.ended(ended) == 1
            break
        except NotStoredNow:
            await asyncio.sleep(0.05)
    assert process._process.pid != first
    await process.close()


async def test_it_ignores_the_signals_that_end_a_gateway_and_ends_with_its_input(tmp_path: Path, environment: FakeS3):
    process = Process(1)
    await process.started(recorded(tmp_path, 1).started)
    running = process._process
    assert running
    running.send_signal(signal.SIGTERM)
    running.send_signal(signal.SIGINT)
    assert await process.ended(recorded(tmp_path, 2)) == 1
    await process.close()

    assert running.returncode == 0
