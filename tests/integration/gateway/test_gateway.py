"""A gateway process with real tokens of a real API server, and a real store."""

import base64
import hashlib
import http.client
import json
import os
import secrets
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from benchmarks.gateway_world import PUBLIC, SEALED, GatewayWorld, RunningGateway
from fairtrial import documents
from fairtrial.attest import dsse
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.documents import RunIdentity
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.store import S3Store
from fairtrial.signing import keys as signing_keys
from fairtrial.testing import evaluation_report
from local_cluster import layout

MIB = 1024 * 1024


@pytest.fixture(scope="session")
def run(world: GatewayWorld) -> str:
    world.run("r1")
    return "r1"


@pytest.fixture(scope="session")
def recorder(world: GatewayWorld, run: str) -> str:
    return world.token(f"{run}-agent", "fairtrial/record")


def call(gateway: RunningGateway, method: str, path: str, token: str, data: object = None, **headers: str):
    request = urllib.request.Request(gateway.url + path, data=data, method=method)  # type: ignore[arg-type]
    request.add_header("Authorization", f"Bearer {token}")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            body = answer.read()
            return answer.status, json.loads(body) if "json" in answer.headers["Content-Type"] else body
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def fresh(folder: str = "agent") -> str:
    return f"/v1/artifacts/{folder}/{secrets.token_hex(6)}.bin"


def put_head(path: str, token: str) -> bytes:
    lines = (f"PUT {path} HTTP/1.1", "Host: g", f"Authorization: Bearer {token}", f"Content-Length: {64 * MIB}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def key(world: GatewayWorld, path: str, run: str = "r1") -> str:
    uid = world.kubectl("get", "benchmarkrun", run, "-n", world.namespace, "-o", "jsonpath={.metadata.uid}")
    return Layout().run(world.namespace, run, uid).artifact(path.removeprefix("/v1/artifacts/"))


def uploads_left(world: GatewayWorld) -> int:
    return len(world.s3.list_multipart_uploads(Bucket=world.namespace).get("Uploads", []))


# --- who --------------------------------------------------------------------------------------------------------------
def test_the_right_pod_with_the_right_audience_may_write(world, gateway, recorder):
    path = fresh()

    first, again, other = (call(gateway, "PUT", path, recorder, data) for data in (b"x", b"x", b"y"))

    assert (first[0], again[0], other[0]) == (201, 200, 409)
    assert first[1]["sha256"] == hashlib.sha256(b"x").hexdigest()
    assert S3Store.from_env(world.env).get(key(world, path)) == b"x"


@pytest.mark.parametrize("audience", ["fairtrial/evaluate", "fairtrial/provider"])
def test_a_wrong_audience_of_ours_is_403(world, gateway, run, audience):
    status, body = call(gateway, "PUT", fresh(), world.token(f"{run}-agent", audience), b"x")

    assert (status, body["reason"]) == (403, "WrongAudience")
    assert audience in body["message"]


def test_a_token_of_another_audience_a_forged_one_and_none_are_401(world, gateway, run, recorder):
    head, claims, signature = recorder.split(".")
    forged = ".".join((head, claims, signature[::-1]))
    foreign = world.token(f"{run}-agent", "https://kubernetes.default.svc.cluster.local")

    for token in (foreign, forged, "a.b.c"):
        assert call(gateway, "PUT", fresh(), token, b"x")[0] == 401


def signed_by_the_cluster(token: str, seconds_left: int) -> str:
    """The same token with another time, and a signature that the API server would have made."""
    head, claims, _ = token.split(".")
    now = int(time.time())
    said = json.loads(base64.urlsafe_b64decode(claims + "==="))
    said |= {"iat": now - 3600, "nbf": now - 3600, "exp": now + seconds_left}
    payload = f"{head}.{base64.urlsafe_b64encode(json.dumps(said).encode()).rstrip(b'=').decode()}"
    key_file = layout.certificates() / "service-accounts.key"
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    signature = key.sign(payload.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{payload}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_a_token_that_was_good_until_a_minute_ago_is_401(world, gateway, recorder):
    good, expired = signed_by_the_cluster(recorder, 600), signed_by_the_cluster(recorder, -60)

    assert call(gateway, "PUT", fresh(), good, b"x")[0] == 201
    assert call(gateway, "PUT", fresh(), expired, b"x")[0] == 401


def test_a_token_without_a_pod_is_refused(world, gateway, run):
    token = world.kubectl(
        "create", "token", "fairtrial-run", "-n", world.namespace, "--audience=fairtrial/record"
    ).strip()

    status, body = call(gateway, "PUT", fresh(), token, b"x")

    assert (status, body["reason"]) == (403, "NotAPod")


def test_a_pod_made_again_under_the_same_name_is_another_pod(world, gateway):
    world.run("again")
    old = world.token("again-agent", "fairtrial/record")
    assert call(gateway, "PUT", fresh(), old, b"x")[0] == 201
    world.kubectl("delete", "pod", "again-agent", "-n", world.namespace, "--grace-period=0", "--force")
    world.pod("again-agent")

    status, body = call(gateway, "PUT", fresh(), world.token("again-agent", "fairtrial/record"), b"x")

    assert (status, body["reason"]) == (403, "WrongPod")


def test_a_token_of_a_deleted_pod_is_worth_nothing(world, gateway):
    world.run("gone")
    token = world.token("gone-agent", "fairtrial/record")
    world.kubectl("delete", "pod", "gone-agent", "-n", world.namespace, "--grace-period=0", "--force")

    assert call(gateway, "PUT", fresh(), token, b"x")[0] == 401


def test_a_pod_that_belongs_to_no_run_is_refused(world, gateway):
    world.pod("stranger")
    world.pod("nobody-agent")

    stranger = call(gateway, "PUT", fresh(), world.token("stranger", "fairtrial/record"), b"x")
    nobody = call(gateway, "PUT", fresh(), world.token("nobody-agent", "fairtrial/record"), b"x")

    assert (stranger[0], stranger[1]["reason"]) == (403, "NotARunPod")
    assert (nobody[0], nobody[1]["reason"]) == (403, "NoSuchRun")


def test_a_run_whose_status_names_no_pod_yet_is_425_and_one_with_a_record_is_closed(world, gateway):
    world.run("early")
    token = world.token("early-agent", "fairtrial/record")
    agent = {"name": "early-agent", "uid": world.pod_uid("early-agent")}
    world.status("early", {"agentPod": None})
    assert call(gateway, "PUT", fresh(), token, b"x")[0] == 425

    world.status("early", {"agentPod": agent})
    assert call(gateway, "PUT", fresh(), token, b"x")[0] == 201

    world.status("early", {"record": {"uri": "s3://b/record.json", "sha256": "f" * 64}})
    status, body = call(gateway, "PUT", fresh(), token, b"x")
    assert (status, body["reason"]) == (403, "RunEnded")


def test_an_evaluator_reads_what_its_agent_wrote_and_writes_in_its_own_folder(world, gateway, run, recorder):
    path = fresh()
    call(gateway, "PUT", path, recorder, b"snapshot")
    reader = world.token(f"{run}-evaluator", "fairtrial/evaluate")
    writer = world.token(f"{run}-evaluator", "fairtrial/record")

    assert call(gateway, "GET", path, reader) == (200, b"snapshot")
    assert call(gateway, "GET", path, recorder)[0] == 403
    assert call(gateway, "PUT", fresh("evaluation"), writer, b"x")[0] == 201
    assert call(gateway, "PUT", fresh("agent"), writer, b"x")[1]["reason"] == "WrongFolder"
    assert call(gateway, "GET", f"/v1/sealed/{PUBLIC}", reader)[1]["reason"] == "WrongArchive"
    assert call(gateway, "GET", f"/v1/bundles/{PUBLIC}", reader)[0] == 404


def test_an_evaluators_report_is_signed_with_the_gateways_key_and_no_pod_has_it(world, run, tmp_path):
    key_file = tmp_path / "evaluator.pem"
    made = signing_keys.new(key_file)
    gateway = world.start_gateway(FAIRTRIAL_SIGNING_KEY=f"file:{key_file}", FAIRTRIAL_SIGNING_DEVELOPMENT="true")
    writer, store = world.token(f"{run}-evaluator", "fairtrial/record"), S3Store.from_env(world.env)
    uid = world.kubectl("get", "benchmarkrun", run, "-n", world.namespace, "-o", "jsonpath={.metadata.uid}")
    own = {"run": RunIdentity(world.namespace, run, uid), "pod_uid": world.pod_uid(f"{run}-evaluator")}
    data = documents.dump(evaluation_report(**own, sealed_sha256=SEALED))

    answers = [call(gateway, "PUT", "/v1/artifacts/evaluation/report.json", writer, data)[0] for _ in range(2)]

    assert answers == [201, 200]
    statement = store.get(Layout(store.settings.prefix).run(world.namespace, run, uid).evaluation_statement())
    found = dsse.verify(statement, TrustList((TrustedKey("evaluator", made.public),)), ["evaluator"])
    assert found.statement.predicate["reportSha256"] == hashlib.sha256(data).hexdigest()
    assert gateway.stop() == 0


def test_a_gateway_whose_key_can_not_be_used_does_not_start(world, tmp_path):
    gateway = world.launch_gateway(FAIRTRIAL_SIGNING_KEY=f"file:{tmp_path / 'none.pem'}")

    assert gateway.process.wait(30) == 2
    assert "can't be read: No such file" in gateway.log()


# --- how much ---------------------------------------------------------------------------------------------------------
def test_four_large_uploads_at_once_are_whole_and_memory_stays_bounded(world, run, recorder):
    gateway = world.start_gateway()
    data = [secrets.token_bytes(MIB) * 64 for _ in range(4)]
    paths = [fresh() for _ in data]
    call(gateway, "PUT", fresh(), recorder, b"warm")
    before = gateway.rss()
    gateway.reset_peak()

    def put(number: int):
        digest = base64.b64encode(hashlib.sha256(data[number]).digest()).decode()
        return call(gateway, "PUT", paths[number], recorder, data[number], Content_Digest=f"sha-256=:{digest}:")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(put, range(4)))

    grown = gateway.peak_rss() - before
    print(f"memory grew by {grown / 1e6:.1f} MB from {before / 1e6:.1f} MB")
    assert [status for status, _ in answers] == [201] * 4
    store = S3Store.from_env(world.env)
    for number, path in enumerate(paths):
        assert store.get(key(world, path), limit=2**27) == data[number]
    assert grown < 60_000_000
    assert gateway.stop() == 0


def test_a_client_killed_in_the_middle_leaves_neither_object_nor_parts(world, gateway, recorder):
    path = fresh()
    connection = socket.create_connection(("127.0.0.1", gateway.port))
    connection.sendall(put_head(path, recorder) + os.urandom(MIB) * 20)
    _until(lambda: uploads_left(world) == 1)

    connection.close()

    _until(lambda: uploads_left(world) == 0)
    assert S3Store.from_env(world.env).head(key(world, path)) is None


# --- when the store or the API server is away -------------------------------------------------------------------------
def test_a_store_that_is_away_is_503_and_works_when_it_is_back(world, proxy, run, recorder):
    gateway = world.start_gateway(FAIRTRIAL_S3_ENDPOINT=proxy.url)
    path = fresh()
    proxy.away = True
    status, body = call(gateway, "PUT", path, recorder, b"x")
    proxy.away = False

    assert (status, body["reason"]) == (503, "StoreUnavailable")
    assert call(gateway, "PUT", path, recorder, b"x")[0] == 201
    assert call(gateway, "GET", "/readyz", recorder)[0] == 200
    assert "fairtrial_gateway_store_retries_total{" in call(gateway, "GET", "/metrics", recorder)[1].decode()
    gateway.stop()


def test_a_store_that_loses_its_answers_is_no_failure(world, proxy, run, recorder):
    gateway = world.start_gateway(FAIRTRIAL_S3_ENDPOINT=proxy.url)
    proxy.order("PUT", "drop", where="/artifacts/")

    assert call(gateway, "PUT", fresh(), recorder, b"x")[0] in (200, 201)
    assert proxy.done == ["drop"]
    gateway.stop()


def test_a_gateway_sweeps_unfinished_uploads_and_a_store_that_cannot_list_them_does_not_hold_it_up(world, proxy):
    proxy.order("GET", "AccessDenied", 403, where="uploads=")

    gateway = world.start_gateway(FAIRTRIAL_S3_ENDPOINT=proxy.url)
    _until(lambda: "sweep failed" in gateway.log())
    assert "s3:ListBucketMultipartUploads" in gateway.log()
    gateway.stop()

    gateway = world.start_gateway()
    _until(lambda: '"swept unfinished uploads", "aborted": 0' in gateway.log())
    gateway.stop()


def test_a_gateway_without_its_rights_is_not_ready_and_says_which_it_lacks(world):
    token = world.kubectl("create", "token", "default", "-n", world.namespace).strip()
    file = world.folder / "powerless"
    file.write_text(token)
    gateway = world.launch_gateway(FAIRTRIAL_KUBERNETES_TOKEN_FILE=str(file))
    _until(lambda: "tokenreviews" in gateway.log())

    status, body = call(gateway, "GET", "/readyz", "")

    assert status == 503
    assert "tokenreviews" in body["waiting"]["identity"]
    gateway.stop()


def test_a_bucket_that_does_not_exist_is_said_and_nothing_is_taken(world, recorder):
    gateway = world.launch_gateway(FAIRTRIAL_S3_BUCKET="no-such-bucket")
    _until(lambda: "NoSuchBucket" in gateway.log())

    assert call(gateway, "PUT", fresh(), recorder, b"x")[0] == 503
    assert "NoSuchBucket" in call(gateway, "GET", "/readyz", "")[1]["waiting"]["store"]
    gateway.stop()


# --- the end ----------------------------------------------------------------------------------------------------------
def test_an_upload_under_way_is_finished_before_the_end_and_new_ones_are_refused(world, run, recorder):
    gateway = world.start_gateway()
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
    path = fresh()
    connection.putrequest("PUT", path)
    connection.putheader("Authorization", f"Bearer {recorder}")
    connection.putheader("Content-Length", "20")
    connection.endheaders(b"x" * 10)
    _until(lambda: b"in_flight 1.0" in call(gateway, "GET", "/metrics", "")[1])

    gateway.process.terminate()
    _until(lambda: call(gateway, "GET", "/readyz", "")[0] == 503)
    refused = call(gateway, "PUT", fresh(), recorder, b"x")
    connection.send(b"y" * 10)

    assert refused[0] == 503
    with connection.getresponse() as answer:
        assert answer.status == 201
    connection.close()
    assert gateway.process.wait(20) == 0
    assert S3Store.from_env(world.env).get(key(world, path)) == b"x" * 10 + b"y" * 10


def test_what_is_not_finished_in_time_is_aborted(world, run, recorder):
    gateway = world.start_gateway(FAIRTRIAL_GATEWAY_DRAIN_SECONDS="1")
    connection = socket.create_connection(("127.0.0.1", gateway.port))
    connection.sendall(put_head(fresh(), recorder) + os.urandom(MIB) * 12)
    _until(lambda: uploads_left(world) == 1)

    assert gateway.stop() == 0

    assert uploads_left(world) == 0
    connection.close()


def test_no_token_and_no_key_is_in_any_log(world, gateway, recorder):
    call(gateway, "PUT", fresh(), recorder, b"x")
    log = gateway.log()

    assert '"event": "request"' in log
    for secret in (recorder, recorder.split(".")[2], world.env["AWS_SECRET_ACCESS_KEY"]):
        assert secret not in log
    assert (world.folder / "token").read_text() not in log


def _until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
