"""A key in a key service: AWS's client library against a stand-in that signs with ECDSA P-256, as AWS KMS does."""

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fairtrial.attest import dsse, note
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.errors import Conflict, SigningFailed
from fairtrial.evidence.memory import MemoryStore
from fairtrial.signing import keys, sign, storing
from fairtrial.signing.keys import SigningKey

KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab"
STATEMENT = Statement.of([("record.json", "ab" * 32)], "https://slsa.dev/provenance/v1", {"n": 1})


class Service(BaseHTTPRequestHandler):
    """The two calls of KMS's JSON protocol that a signer makes."""

    private = generate_private_key(SECP256R1())
    away: ClassVar[bool] = False

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        known = asked.get("KeyId") == KEY_ID and not Service.away
        body = getattr(self, operation)(asked) if known else {"__type": "NotFoundException", "message": "no such key"}
        data = json.dumps(body).encode()
        self.send_response(200 if known else 400)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def GetPublicKey(self, _: Any) -> Any:  # noqa: N802 - KMS's own name
        der = self.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        told = {"KeyId": KEY_ID, "KeySpec": "ECC_NIST_P256", "KeyUsage": "SIGN_VERIFY"}
        return told | {"PublicKey": base64.b64encode(der).decode(), "SigningAlgorithms": ["ECDSA_SHA_256"]}

    def Sign(self, asked: Any) -> Any:  # noqa: N802
        assert (asked["MessageType"], asked["SigningAlgorithm"]) == ("DIGEST", "ECDSA_SHA_256")
        signature = self.private.sign(base64.b64decode(asked["Message"]), ECDSA(Prehashed(SHA256())))
        return {"KeyId": KEY_ID, "Signature": base64.b64encode(signature).decode()}

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[SigningKey]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", f"http://127.0.0.1:{server.server_address[1]}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    yield keys.load(f"awskms:{KEY_ID}")
    Service.away = False
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_statement_is_signed_and_verified(key: SigningKey) -> None:
    listed = TrustList((TrustedKey("operator", key.public),))

    found = dsse.verify(sign.statement(STATEMENT, key), listed, ["operator"])

    assert found.statement == STATEMENT
    assert not key.public.deterministic


def test_a_checkpoint_is_signed_and_verified(key: SigningKey) -> None:
    read = note.parse(sign.checkpoint(Checkpoint("fairtrial.dev/a/b/c", 1, bytes(32)), key))

    assert note.verify(read, [key.public], key_name="fairtrial.dev/a/b/c") == [key.public]


def test_a_key_that_does_not_repeat_itself_leaves_what_was_signed_first(key: SigningKey) -> None:
    store, checkpoint = MemoryStore(), Checkpoint("fairtrial.dev/a/b/c", 1, bytes(32))
    assert storing.keep_statement(store, "r/record.sigstore.json", STATEMENT, key)
    first = storing.keep_checkpoint(store, "c/00000001.note", checkpoint, key)
    before = dict(store.objects)

    assert not storing.keep_statement(store, "r/record.sigstore.json", STATEMENT, key)
    assert storing.keep_checkpoint(store, "c/00000001.note", checkpoint, key) == first
    assert store.objects == before
    with pytest.raises(Conflict):
        storing.keep_statement(store, "r/record.sigstore.json", Statement.of([("a", "cd" * 32)], "x", {}), key)
    with pytest.raises(Conflict):
        storing.keep_checkpoint(store, "c/00000001.note", Checkpoint("fairtrial.dev/a/b/c", 1, b"x" * 32), key)


def test_a_service_that_refuses_is_named(key: SigningKey) -> None:
    with pytest.raises(SigningFailed, match="no such key"):
        keys.load("awskms:another")
    Service.away = True
    with pytest.raises(SigningFailed, match="no such key"):
        sign.statement(STATEMENT, key)
