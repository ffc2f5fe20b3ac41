"""How the store is reached: what goes over the wire, over which connection, through which proxy, trusting whom."""

import base64
import contextlib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fairtrial.errors import InvalidInput, StoreError, StoreUnavailable
from fairtrial.evidence.s3_client import S3Client, S3Settings
from fairtrial.evidence.s3_signing import Request, authorization
from fairtrial.evidence.store import Patience, S3Store
from tests.integration.models.http2_provider import certificate
from tests.rude_server import RudeHandler, serving

BODY = b"what is stored"
TRUST = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


@dataclass
class Seen:
    """What a server was asked: each request line and its headers, and by which connections."""

    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)  # headers of every answer
    status: int = 200


class Handler(RudeHandler):
    seen: Seen
    tls: ssl.SSLContext | None = None

    def handle(self) -> None:
        if self.tls is None:
            return super().handle()
        with self.tls.wrap_socket(self.connection, server_side=True, do_handshake_on_connect=False) as self.connection:
            with contextlib.suppress(ssl.SSLError):  # a client that does not believe us
                self.connection.do_handshake()
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                super().handle()
            self.rfile.close()
        return None

    def do(self) -> None:
        self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.seen.asked.append((f"{self.command} {self.path}", headers))
        self.seen.connections.add(self.client_address[:2])
        self.answer(self.seen.status, BODY, self.seen.answers)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy", *TRUST):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def url(seen: Seen) -> Iterator[str]:
    with serving(Handler, seen=seen) as url:
        yield url


def settings(url: str) -> S3Settings:
    return S3Settings(endpoint=url, bucket="evidence", access_key="an-id", secret_key="a-secret")


@contextmanager
def opened(settings: S3Settings) -> Iterator[S3Store]:
    store = S3Store(settings, patience=Patience(attempts=2, first_pause=0.001))
    yield store
    store.close()


def test_what_is_signed_is_what_arrives(url: str, seen: Seen):
    with opened(replace(settings(url), session_token="a-token")) as store:
        store.put("a/b.json", BODY, media_type="application/json")

    ((line, headers),) = seen.asked
    assert line == "PUT /evidence/a/b.json"
    assert (headers["if-none-match"], headers["content-type"]) == ("*", "application/json")
    assert headers["x-amz-security-token"] == "a-token"
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"host", "if-none-match", "x-amz-checksum-sha256", "x-amz-meta-sha256", "x-amz-security-token"} <= {*names}
    arrived = Request(
        "PUT", "/evidence/a/b.json", "", {name: headers[name] for name in names}, headers["x-amz-content-sha256"]
    )
    assert headers["authorization"] == authorization(arrived, "an-id", "a-secret", "us-east-1")


def test_retention_is_asked_for_on_every_new_object(url: str, seen: Seen):
    with opened(replace(settings(url), object_lock_days=3)) as store:
        store.put("a.txt", BODY)

    (_, headers) = seen.asked[0]
    assert headers["x-amz-object-lock-mode"] == "COMPLIANCE"
    assert headers["x-amz-object-lock-retain-until-date"].endswith("Z")


def test_one_connection_carries_one_request_after_another(url: str, seen: Seen):
    with opened(settings(url)) as store:
        for _ in range(5):
            store.put("a.txt", BODY)
            assert store.get("a.txt") == BODY
            store.head("a.txt")

    assert len(seen.connections) == 1


def test_an_object_is_one_request_whatever_is_known_of_it(url: str, seen: Seen):
    with opened(settings(url)) as store:
        assert store.get("a.txt") == BODY

    assert [line for line, _ in seen.asked] == ["GET /evidence/a.txt"]


def test_an_endpoint_may_have_a_path_and_its_default_port_is_not_told(url: str, seen: Seen, monkeypatch):
    with opened(settings(f"{url}/s3/")) as store:
        store.get("a.txt")
    monkeypatch.setenv("http_proxy", url)
    with opened(settings("http://store.example:80")) as store:
        store.get("a.txt")

    assert seen.asked[0][0] == "GET /s3/evidence/a.txt"
    assert seen.asked[1][1]["host"] == "store.example"


def test_what_is_stored_in_a_coding_is_given_back_as_it_is(url: str, seen: Seen):
    seen.answers = {"Content-Encoding": "gzip"}
    with opened(settings(url)) as store:
        assert store.get("a.txt") == BODY


def test_a_redirect_is_not_followed_and_says_where_to_look(url: str, seen: Seen):
    seen.status, seen.answers = 307, {"Location": f"{url}/elsewhere"}

    with opened(settings(url)) as store, pytest.raises(StoreError, match="FAIRTRIAL_S3_REGION"):
        store.get("a.txt")

    assert [line for line, _ in seen.asked] == ["GET /evidence/a.txt"]


def test_an_answer_without_a_length_is_no_object(url: str, seen: Seen):
    seen.answers = {"Content-Length": "many"}
    with opened(settings(url)) as store, pytest.raises(StoreUnavailable, match="length"):
        store.head("a.txt")


# --- proxies and certificates -----------------------------------------------------------------------------------------
def test_a_proxy_of_the_environment_is_used_with_its_password(url: str, seen: Seen, monkeypatch):
    monkeypatch.setenv("http_proxy", url.replace("http://", "http://us%40er:pass@"))
    with opened(settings("http://store.example:9000")) as store:
        assert store.get("a.txt") == BODY

    ((line, headers),) = seen.asked
    assert line == "GET http://store.example:9000/evidence/a.txt"
    assert headers["host"] == "store.example:9000"
    assert headers["proxy-authorization"] == f"Basic {base64.b64encode(b'us@er:pass').decode()}"


def test_a_host_that_the_environment_excepts_is_asked_without_a_proxy(url: str, seen: Seen, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with opened(settings(url)) as store:
        assert store.get("a.txt") == BODY


@pytest.mark.parametrize("name", TRUST)
def test_a_certificate_is_believed_where_its_authority_is_named(name: str, seen: Seen, tmp_path: Path, monkeypatch):
    tls, chain = certificate(tmp_path, alpn=["http/1.1"])
    with serving(Handler, seen=seen, tls=tls) as url:
        secure = settings(url.replace("http://", "https://"))
        with opened(secure) as store, pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            store.get("a.txt")
        monkeypatch.setenv(name, str(chain))
        with opened(secure) as store:
            assert store.get("a.txt") == BODY

    assert len(seen.asked) == 1


def test_a_bundle_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "none.pem"))

    with pytest.raises(InvalidInput, match=r"AWS_CA_BUNDLE: .*none\.pem"):
        S3Client(settings("https://store.example"))
