"""What a pod stores is searched for secrets before its report is there, however the secret is written."""

import asyncio
import base64
import gzip
import io
import json
import random
import tarfile
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from fairtrial_gateway.artifact_scan import ArtifactScanning, Asked
from fairtrial_gateway.models.workers import NotStoredNow, Process

from fairtrial import documents
from fairtrial.documents import RunIdentity
from fairtrial.errors import StoreUnavailable
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.store import S3Store
from fairtrial.secrets.stored import AGENT, EVALUATION, ArtifactScan
from tests.integration.models.test_restart import s3  # noqa: F401 — a fixture
from tests.integration.models.test_workers import environment  # noqa: F401 — a fixture
from tests.integration.models.world import AGENT_UID, CREDENTIAL, World
from tests.integration.models.world import world as make_world
from tests.unit.evidence.conftest import FakeS3

CANARY = "canary-for-echoes/0123+456=?"
NAMED = json.dumps([{"namespace": "team", "name": "canaries"}])
REPORT = b'{"a":"report"}'
FORMS = {
    "plain": CANARY.encode(),
    "base64": base64.b64encode(b"xy" + CANARY.encode()),
    "percent": "".join(f"%{byte:02X}" for byte in CANARY.encode()).encode(),
    "quoted": quote(CANARY, safe="").encode(),
}
RUN = RunIdentity("team", "r1", "r1-uid")
BASE = Layout().run("team", "r1", "r1-uid").base


@asynccontextmanager
async def guarded(folder: Path, *, named: str = NAMED, **changes: Any) -> AsyncIterator[World]:
    async with make_world(folder, canary_secrets=named, **changes) as world:
        world.kubernetes.provider("http://127.0.0.1:9", "anthropicMessages")
        world.kubernetes.put("secrets", "canaries", data={"one": base64.b64encode(CANARY.encode()).decode()})
        yield world


async def store(world: World, session: aiohttp.ClientSession, name: str, data: bytes, token: str = "") -> int:
    token = token or world.kubernetes.token("r1-agent", AGENT_UID, "fairtrial/record")
    headers = {"Authorization": f"Bearer {token}"}
    async with session.put(f"{world.url}/v1/artifacts/{name}", data=data, headers=headers) as answer:
        return answer.status


def scan_of(world: World, name: str = AGENT) -> ArtifactScan:
    found: ArtifactScan = documents.load(ArtifactScan, world.store.objects[f"{BASE}/artifacts/{name}"], name=name)
    return found


def places(found: ArtifactScan) -> set[tuple[str, str, str]]:
    return {(leak.name, leak.artifact, leak.where) for leak in found.leaks}


def tar(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("form", FORMS)
async def test_a_canary_in_a_stream_is_found_however_it_is_written_and_cut(tmp_path, session, form):
    said = b"Look: " + FORMS[form] + b"\n"
    async with guarded(tmp_path) as world:
        for number, start in enumerate(range(0, len(said), 5)):
            assert await store(world, session, f"agent/streams/stdout/{number:06d}", said[start : start + 5]) == 201
        assert await store(world, session, "agent/report.json", REPORT) == 201

        found = scan_of(world)

    assert places(found) == {("canary:canaries/one", "agent/streams/stdout", "content")}
    assert found.state == "done"
    assert found.secrets == ["canary:canaries/one", "provider-credential"]
    assert CANARY not in documents.dump(found).decode()


@pytest.mark.parametrize("form", FORMS)
async def test_it_is_found_in_an_archives_members(tmp_path, session, form):
    async with guarded(tmp_path) as world:
        await store(world, session, "agent/snapshot.tar", tar(**{"a.txt": b"x", "b/c.txt": b"is " + FORMS[form]}))
        await store(world, session, "agent/report.json", REPORT)

        assert ("canary:canaries/one", "agent/snapshot.tar", "content") in places(scan_of(world))


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda data: zlib.compress(b"blob 9\0" + data, 1)])
async def test_it_is_found_in_a_members_compressed_content(tmp_path, session, pack):
    """As in a repository to which the agent committed it."""
    async with guarded(tmp_path) as world:
        packed = pack(b"a" * 70000 + FORMS["base64"])
        await store(world, session, "agent/snapshot.tar", tar(**{".git/objects/ab/cd": packed, "z": b"z"}))
        await store(world, session, "agent/report.json", REPORT)

        assert places(scan_of(world)) == {("canary:canaries/one", "agent/snapshot.tar", "unpacked")}


async def test_a_long_name_in_an_archive_is_found_and_not_repeated(tmp_path, session):
    name = f"{'d' * 80}/{CANARY.replace('/', '-')}"
    async with guarded(tmp_path) as world:
        value = base64.b64encode(CANARY.replace("/", "-").encode()).decode()
        world.kubernetes.put("secrets", "canaries", data={"one": value})
        await store(world, session, "agent/snapshot.tar", tar(**{name: b"x"}))
        await store(world, session, "agent/report.json", REPORT)

        found = scan_of(world)

    assert {leak.artifact for leak in found.leaks} == {"agent/snapshot.tar"}
    assert b"canary-for" not in documents.dump(found)


async def test_the_report_itself_is_searched(tmp_path, session):
    async with guarded(tmp_path) as world:
        report = json.dumps({"message": f"left a file {CANARY}"}).encode()
        assert await store(world, session, "agent/report.json", report) == 201

        assert places(scan_of(world)) == {("canary:canaries/one", "agent/report.json", "content")}


async def test_what_an_evaluators_checks_print_is_searched_too(tmp_path, session):
    async with guarded(tmp_path) as world:
        world.kubernetes.run(evaluatorPod={"uid": "evaluator-uid"})
        token = world.kubernetes.token("r1-evaluator", "evaluator-uid", "fairtrial/record")
        assert await store(world, session, "evaluation/check-1/stdout.txt", FORMS["percent"], token) == 201
        assert await store(world, session, "evaluation/report.json", REPORT, token) == 201

        found = scan_of(world, EVALUATION)

    assert places(found) == {("canary:canaries/one", "evaluation/check-1/stdout.txt", "content")}


async def test_the_providers_credential_is_looked_for_as_well(tmp_path, session):
    async with guarded(tmp_path, named="[]") as world:
        await store(world, session, "agent/diff.patch", f"+key = {CREDENTIAL}".encode())
        await store(world, session, "agent/report.json", REPORT)

        found = scan_of(world)

    assert places(found) == {("provider-credential", "agent/diff.patch", "content")}
    assert found.secrets == ["provider-credential"]


async def test_a_run_that_says_nothing_of_it_trips_nothing(tmp_path, session):
    near = CANARY[:-1].encode() + b"\n" + base64.b64encode(CANARY[:-6].encode())
    async with guarded(tmp_path) as world:
        await store(world, session, "agent/streams/stdout/000000", near)
        await store(world, session, "agent/snapshot.tar", tar(**{"a": near, "b.gz": gzip.compress(near)}))
        await store(world, session, "agent/report.json", REPORT)

        found = scan_of(world)

    assert (found.leaks, found.state, found.artifacts) == ([], "done", 3)


async def test_where_there_is_nothing_to_look_for_nothing_is_written(tmp_path, session):
    async with guarded(tmp_path, named="[]") as world:
        world.kubernetes.put("benchmarkruns", "r1", spec={}, status={"agentPod": {"uid": AGENT_UID}})
        assert await store(world, session, "agent/report.json", REPORT) == 201

        assert not [key for key in world.store.objects if "/scan/" in key]


async def test_whoever_finds_a_report_finds_its_scan(tmp_path, session):
    async with guarded(tmp_path) as world:
        await store(world, session, "agent/report.json", REPORT)

        in_their_order = [key.removeprefix(f"{BASE}/artifacts/") for key in world.store.objects if "/artifacts/" in key]

    assert in_their_order == [AGENT, "agent/report.json"]


async def test_a_second_report_is_refused_and_the_first_scan_stands(tmp_path, session):
    async with guarded(tmp_path) as world:
        await store(world, session, "agent/report.json", REPORT)
        first = scan_of(world)
        await store(world, session, "agent/late.txt", b"x")
        assert await store(world, session, "agent/report.json", REPORT) == 200
        assert await store(world, session, "agent/report.json", FORMS["plain"]) == 409

        assert scan_of(world) == first and first.leaks == []


async def test_canaries_that_cannot_be_read_leave_a_scan_that_failed(tmp_path, session):
    async with guarded(tmp_path) as world:
        del world.kubernetes.objects["secrets/canaries"]
        assert await store(world, session, "agent/report.json", REPORT) == 201

        found = scan_of(world)

    assert (found.state, found.reason) == ("failed", "secrets_unreadable")


async def test_a_store_that_cannot_be_searched_is_asked_again(tmp_path, session):
    async with guarded(tmp_path) as world:
        keys, world.store.keys = world.store.keys, away  # type: ignore[method-assign]
        assert await store(world, session, "agent/report.json", REPORT) == 503
        assert not [key for key in world.store.objects if "/artifacts/" in key]

        world.store.keys = keys  # type: ignore[method-assign]
        assert await store(world, session, "agent/report.json", REPORT) == 201

        assert scan_of(world).state == "done"


def away(_: str) -> list[str]:
    raise StoreUnavailable("The store is away.")


# --- the search alone -------------------------------------------------------------------------------------------------
def search(artifacts: dict[str, bytes], *, until: float = 10, clock: Any = lambda: 0.0) -> ArtifactScan:
    made = MemoryStore()
    for name, data in artifacts.items():
        made.put(f"{BASE}/artifacts/{name}", data)
    asked = Asked(RUN, "", "agent/", {"canary": CANARY.encode()}, until)
    return ArtifactScanning(made, Layout(), clock).scan(asked)


def test_a_search_that_takes_too_long_says_so_and_keeps_what_it_found() -> None:
    ticks = iter(range(100))
    found = search({"agent/a.txt": FORMS["plain"], "agent/b.txt": b"x"}, until=0, clock=lambda: next(ticks))

    assert (found.state, found.reason) == ("failed", "too_slow")
    assert [leak.artifact for leak in found.leaks] == ["agent/a.txt"]


def test_an_archive_that_is_none_is_searched_as_it_is_and_told() -> None:
    found = search({"agent/snapshot.tar": b"\xff" * 1000 + FORMS["base64"] + b"\xff" * 3000})

    assert (found.state, found.reason) == ("failed", "unreadable_archive")
    assert [leak.encoding for leak in found.leaks] == ["base64"]


def test_a_compressed_file_is_read_up_to_a_limit_and_a_bomb_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    behind = gzip.compress(base64.b64encode(random.Random(1).randbytes(2 << 20)) + FORMS["plain"])
    assert search({"agent/snapshot.tar": tar(behind=behind)}).leaks
    monkeypatch.setattr("fairtrial_gateway.artifact_scan.UNPACKED_MAX", 1 << 20)
    assert not search({"agent/snapshot.tar": tar(behind=behind)}).leaks
    monkeypatch.undo()
    bomb = gzip.compress(bytes(256 << 20), 1)
    started = time.process_time()

    found = search({"agent/snapshot.tar": tar(bomb=bomb)})

    assert (found.leaks, found.state) == ([], "done")
    assert time.process_time() - started < 3, "all of it takes longer"


def test_memory_is_bounded_whatever_is_stored() -> None:
    big = random.Random(2).randbytes(1 << 20) * 6
    tracemalloc.start()
    held = search({"agent/snapshot.tar": tar(big=big), "agent/streams/stdout/000000": big})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held.bytes > 12 << 20
    assert peak < 5 * len(big), "what the test and its store hold themselves, and a few pieces"


async def test_a_process_of_its_own_searches_the_store_and_is_told_the_secrets(environment: FakeS3):  # noqa: F811
    made = S3Store.from_env()
    await asyncio.to_thread(made.put, f"{BASE}/artifacts/agent/streams/stdout/000000", FORMS["percent"])
    made.close()
    process = Process(1)
    asked = Asked(RUN, "", "agent/", {"canary:a/b": CANARY.encode()}, time.monotonic() + 20)

    found = await process.scan(asked)

    assert places(found) == {("canary:a/b", "agent/streams/stdout", "content")}
    assert CANARY not in repr(asked)
    environment.order("ListObjectsV2", "AccessDenied", 403, times=1)
    with pytest.raises(NotStoredNow):
        await process.scan(asked)
    await process.close()
