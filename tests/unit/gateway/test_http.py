"""What a pod sees: statuses, texts, limits; and what is stored, or is not, after each."""

import asyncio
import base64
import gzip
import hashlib
import io
import json
import logging

import pytest
from fairtrial_gateway.connections import IdleReaper
from fairtrial_gateway.logs import JsonLines, NoContent

from fairtrial.errors import StoreUnavailable
from fairtrial.evidence.objects import PART_SIZE


def digest(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


async def until(condition) -> None:
    """Wait for something that the server does after its answer, or that has no answer."""
    while not condition():  # noqa: ASYNC110 — the server under test has no event to wait for
        await asyncio.sleep(0.01)


async def raw(served, text: bytes, *, wait: float = 30.0) -> bytes:
    """Send bytes as they are, end the sending side, and read until the server ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        writer.write(text)
        await writer.drain()
        return await asyncio.wait_for(reader.read(), wait)
    finally:
        writer.close()


def put_head(token: str, *lines: str) -> bytes:
    head = ["PUT /v1/artifacts/agent/a.bin HTTP/1.1", "Host: g", f"Authorization: Bearer {token}", *lines]
    return ("\r\n".join(head) + "\r\n\r\n").encode()


# --- creating ---------------------------------------------------------------------------------------------------------
async def test_an_artifact_is_created_once_adopted_when_equal_and_refused_when_not(served):
    token = served.recorder()

    first = await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"x")
    again = await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"x")
    other = await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"y")

    body = {"name": "agent/a.txt", "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    assert (first[0], first[1]) == (201, body)
    assert (again[0], again[1]) == (200, body)
    assert (other[0], other[1]["reason"]) == (409, "Conflict")
    assert served.store.objects == {served.run.artifact("agent/a.txt"): b"x"}


@pytest.mark.parametrize("size", [0, 1, PART_SIZE - 1, PART_SIZE, PART_SIZE + 1, 2 * PART_SIZE + 5])
async def test_a_body_of_any_size_arrives_whole_with_and_without_a_length(served, size: int):
    data = (b"0123456789" * (size // 10 + 1))[:size]

    async def pieces():
        for at in range(0, size, 1_000_000):
            yield data[at : at + 1_000_000]

    token = served.recorder()
    known = await served.call("PUT", "/v1/artifacts/agent/a.bin", token, io.BytesIO(data), Content_Digest=digest(data))
    chunked = await served.call("PUT", "/v1/artifacts/agent/b.bin", token, pieces())

    assert (known[0], chunked[0]) == (201, 201)
    assert served.store.objects[served.run.artifact("agent/a.bin")] == data
    assert served.store.objects[served.run.artifact("agent/b.bin")] == data


async def test_a_body_that_differs_from_its_digest_is_not_stored(served):
    answer = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x", Content_Digest=digest(b"y"))

    assert (answer[0], answer[1]["reason"]) == (400, "DigestMismatch")
    assert served.store.objects == {}


async def test_a_digest_that_is_none_is_refused(served):
    header = "sha-256=:eA==:"
    answer = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x", Content_Digest=header)

    assert (answer[0], answer[1]["reason"]) == (400, "InvalidDigest")


async def test_an_encoded_body_is_refused_since_its_digest_would_be_of_something_else(served):
    zipped = gzip.compress(b"x" * 100_000)
    for size in ("known", "chunked"):
        body = io.BytesIO(zipped) if size == "known" else _pieces(zipped)
        answer = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), body, Content_Encoding="gzip")
        assert (answer[0], answer[1]["reason"]) == (415, "Encoded")
    assert served.store.objects == {}


async def _pieces(data: bytes):
    yield data


# --- bodies that do not come ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
async def test_a_client_that_goes_away_in_the_middle_stores_nothing(served, how: str):
    body = b"x" * 500 if "Length" in how else b"1f4\r\n" + b"x" * 500 + b"\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(put_head(served.recorder(), how) + body)
    await writer.drain()
    await until(lambda: served.gateway.artifacts.slots.taken > 0)

    writer.close()

    await until(lambda: served.gateway.artifacts.slots.taken == 0)
    assert served.store.objects == {}


async def test_a_client_that_ends_its_side_early_stores_nothing(served):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(put_head(served.recorder(), "Content-Length: 1000") + b"x" * 500)
    writer.write_eof()
    await asyncio.wait_for(reader.read(), 2)
    writer.close()

    assert served.store.objects == {}


async def test_a_client_that_sends_nothing_more_is_told_so_and_stores_nothing(served):
    answer = await raw(served, put_head(served.recorder(), "Content-Length: 1000") + b"x" * 500)

    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"TooSlow"' in answer
    assert served.store.objects == {}


async def test_headers_that_never_end_do_not_hold_a_connection(served):
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost:")
    await writer.drain()
    await until(lambda: served.server.runner.server.connections)
    connections = [c for c in served.server.runner.server.connections if c.transport]
    assert connections
    reaper = IdleReaper(10.0)

    reaper.sweep(connections, now=100.0)
    assert not any(c.transport.is_closing() for c in connections)
    reaper.sweep(connections, now=110.0)

    assert all(c.transport is None or c.transport.is_closing() for c in connections)
    writer.close()


async def test_a_body_over_the_limit_is_refused_before_it_is_sent(served):
    answer = await raw(served, put_head(served.recorder(), "Content-Length: 99999999999"))

    assert answer.startswith(b"HTTP/1.1 413")
    assert json.loads(answer.split(b"\r\n\r\n")[1])["reason"] == "TooLarge"


async def test_a_body_without_a_length_is_cut_at_the_limit(served):
    async def endless():
        while True:
            yield b"x" * 1_000_000

    try:
        answer = await served.call("PUT", "/v1/artifacts/agent/a.bin", served.recorder(), endless())
        assert answer[0] == 413
    except ConnectionError:
        pass  # the server had closed while we were still sending
    assert served.store.objects == {}


async def test_headers_over_the_limit_are_refused(served):
    answer = await raw(served, put_head("x" * 20_000, "Content-Length: 0"))

    assert b" 400 " in answer.splitlines()[0]


# --- who --------------------------------------------------------------------------------------------------------------
async def test_without_a_good_token_nothing_is_served(served):
    for token in ("", "nonsense", "a.b.c", "x" * 9000 + ".b.c"):
        status, body, _ = await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"x")
        assert status in (400, 401), token[:20]
        if status == 401:
            assert body["reason"] == "Unauthenticated"
    assert served.store.objects == {}


async def test_a_token_is_reviewed_once_and_an_unknown_one_is_not_asked_about_again(served):
    token = served.recorder()
    for number in range(5):
        await served.call("PUT", f"/v1/artifacts/agent/{number}.txt", token, b"x")
        await served.call("PUT", "/v1/artifacts/agent/a.txt", "un.kno.wn", b"x")

    assert served.kubernetes.asked.count("review") == 2


async def test_an_expired_token_is_not_kept(served):
    token = served.kubernetes.token("r1-agent", "agent-uid", "fairtrial/record", lifetime=-1)
    await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"x")
    del served.kubernetes.reviews[token]

    assert (await served.call("PUT", "/v1/artifacts/agent/b.txt", token, b"x"))[0] == 401


async def test_a_run_that_ends_while_a_body_is_on_its_way_takes_it_no_more(served):
    async def slowly():
        yield b"x"
        await until(lambda: served.gateway.artifacts.slots.taken == 1)  # it was admitted
        served.kubernetes.runs["r1"]["status"]["record"] = {"uri": "s3://x"}
        yield b"y"

    status, body, _ = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), slowly())

    assert (status, body["reason"]) == (403, "RunEnded")
    assert served.store.objects == {}


async def test_a_pod_that_the_status_does_not_name_yet_is_asked_to_come_back(served):
    del served.kubernetes.runs["r1"]["status"]["agentPod"]

    status, _, headers = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x")

    assert (status, headers["Retry-After"]) == (425, "1")


async def test_a_run_that_does_not_exist_is_nobodys(served):
    token = served.kubernetes.token("r2-agent", "agent-uid", "fairtrial/record")

    status, body, _ = await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"x")

    assert (status, body["reason"]) == (403, "NoSuchRun")


async def test_an_api_server_that_refuses_us_is_503_and_never_401(served):
    served.kubernetes.status = 403

    status, body, headers = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x")

    assert (status, body["reason"], headers["Retry-After"]) == (503, "IdentityUnavailable", "2")


# --- reading ----------------------------------------------------------------------------------------------------------
async def test_an_evaluator_reads_its_archives_and_its_runs_artifacts(served):
    served.store.put(f"tasks/sha256/{'a' * 64}", b"public" * 1000)
    served.store.put(f"sealed/sha256/{'b' * 64}", b"sealed")
    served.store.put(served.run.artifact("agent/snapshot.tar"), b"s" * 3_000_000)
    token = served.evaluator()

    assert (await served.call("GET", f"/v1/bundles/{'a' * 64}", token))[:2] == (200, b"public" * 1000)
    assert (await served.call("GET", f"/v1/sealed/{'b' * 64}", token))[:2] == (200, b"sealed")
    assert (await served.call("GET", "/v1/artifacts/agent/snapshot.tar", token))[:2] == (200, b"s" * 3_000_000)


async def test_an_object_that_is_not_there_is_404(served):
    status, body, _ = await served.call("GET", f"/v1/bundles/{'a' * 64}", served.evaluator())

    assert (status, body["reason"]) == (404, "NotStored")


async def test_a_damaged_object_is_not_served(served):
    key = f"sealed/sha256/{'b' * 64}"
    served.store.put(key, b"sealed")
    served.store.objects[key] = b"forged"

    status, body, _ = await served.call("GET", f"/v1/sealed/{'b' * 64}", served.evaluator())

    assert (status, body["reason"]) == (500, "StoredContentDamaged")


async def test_damage_that_shows_late_cuts_the_body(served):
    class Late:
        size = 2_000_000

        def __init__(self) -> None:
            self.left = [b"x" * 1_000_000]

        def __next__(self) -> bytes:
            if not self.left:
                raise StoreUnavailable("cut")
            return self.left.pop()

        def close(self) -> None:
            pass

    served.store.open = lambda key: Late()
    head = f"GET /v1/bundles/{'a' * 64} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {served.evaluator()}\r\n\r\n"
    try:
        answer = await raw(served, head.encode())
    except ConnectionError:
        return
    assert len(answer) < 2_000_000


# --- store and load ---------------------------------------------------------------------------------------------------
async def test_a_store_that_is_away_is_503_and_then_works_again(served):
    good = served.store.put

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The store is away.")

    served.store.put = away
    status, body, headers = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x")
    served.store.put = good

    assert (status, body["reason"], headers["Retry-After"]) == (503, "StoreUnavailable", "2")
    assert (await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x"))[0] == 201


async def test_no_pod_takes_more_than_its_share_of_uploads(served):
    writers = []
    for number in range(4):
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(put_head(served.recorder(), "Content-Length: 10").replace(b"a.bin", b"%d.bin" % number))
        writers.append(writer)
    await until(lambda: served.gateway.artifacts.slots.taken == 4)

    mine = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x")
    other = served.kubernetes.token("r1-evaluator", "evaluator-uid", "fairtrial/record")
    theirs = await served.call("PUT", "/v1/artifacts/evaluation/a.txt", other, b"x")

    assert (mine[0], mine[1]["reason"], mine[2]["Retry-After"]) == (503, "TooManyUploads", "1")
    assert theirs[0] == 201
    for writer in writers:
        writer.close()


# --- health, metrics, logs --------------------------------------------------------------------------------------------
async def test_a_gateway_whose_store_is_unfit_says_why_and_takes_nothing(served):
    served.gateway.health.waiting["store"] = "The object store ignores If-None-Match on PutObject."

    ready = await served.call("GET", "/readyz")
    refused = await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"x")

    assert ready[0] == 503
    assert "If-None-Match" in ready[1]["waiting"]["store"]
    assert (refused[0], refused[1]["reason"]) == (503, "NotReady")
    assert "If-None-Match" in refused[1]["message"]
    assert (await served.call("GET", "/healthz"))[0] == 200


async def test_metrics_count_routes_and_never_names(served):
    await served.call("PUT", "/v1/artifacts/agent/a.txt", served.recorder(), b"xyz")
    await served.call("GET", "/nowhere")

    text = (await served.call("GET", "/metrics"))[1].decode()

    assert 'requests_total{method="PUT",route="/v1/artifacts/{name}",status="201"} 1.0' in text
    assert 'requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'fairtrial_gateway_bytes_total{direction="in"} 3.0' in text
    assert "a.txt" not in text


async def test_an_unknown_path_is_a_json_404(served):
    status, body, _ = await served.call("GET", "/v1/nowhere")

    assert (status, body["reason"]) == (404, "NotFound")


async def test_no_token_ever_reaches_a_log(served, caplog):
    caplog.set_level(logging.DEBUG)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("aiohttp.server", "aiohttp.web"):
        logging.getLogger(name).addFilter(no_content := NoContent())
    token, secret = served.recorder(), "s3cr3t.s3cr3t.s3cr3t"
    await served.call("PUT", "/v1/artifacts/agent/a.txt", token, b"x")
    await served.call("PUT", "/v1/artifacts/agent/a.txt", secret, b"x")
    await raw(served, f"PUT / HTTP/1.1\r\nAuthorization: Bearer {secret}\x00\r\n\r\n".encode())
    await raw(served, f"PUT /{secret}\x01 HTTP/9\r\nAuthorization Bearer {secret}\r\n\r\n".encode())
    await raw(served, put_head(secret * 2000))

    lines = [handler.format(record) for record in caplog.records if not record.name.startswith("asyncio")]
    for name in ("aiohttp.server", "aiohttp.web"):
        logging.getLogger(name).removeFilter(no_content)

    assert any('"event": "request"' in line for line in lines)
    assert not [line for line in lines if secret in line or token in line]
