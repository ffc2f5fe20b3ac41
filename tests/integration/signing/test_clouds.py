"""Keys at Google and Azure: their client libraries against stand-ins that speak as much of the services as is asked.

Only TLS and who asks are left out: the clients are led to this machine, and log in nowhere.
"""

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import grpc
import pytest
from azure.core.credentials import AccessToken
from azure.core.pipeline.transport import RequestsTransport
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.cloud import kms
from google.cloud.kms_v1.services.key_management_service.transports import KeyManagementServiceGrpcTransport
from securesystemslib.signer import _azure_signer as azure
from securesystemslib.signer import _gcp_signer as google

from fairtrial.attest import dsse, note
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.publickey import PublicKey
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.errors import SigningFailed
from fairtrial.signing import keys, sign
from fairtrial.signing.keys import SigningKey

STATEMENT = Statement.of([("record.json", "ab" * 32)], "https://slsa.dev/provenance/v1", {"n": 1})
PRIVATE = generate_private_key(SECP256R1())
GOOGLE = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1"
VAULT, VERSION = "https://trials.vault.azure.net", "0123456789abcdef0123456789abcdef"


def proves(key: SigningKey) -> None:
    """It is the service's key, and what it signs is verified as a statement and as a checkpoint."""
    assert key.key_id == PublicKey.of(PRIVATE.public_key()).key_id
    listed = TrustList((TrustedKey("operator", key.public),))
    assert dsse.verify(sign.statement(STATEMENT, key), listed, ["operator"]).statement == STATEMENT
    root = note.parse(sign.checkpoint(Checkpoint("fairtrial.dev/a/b/c", 1, bytes(32)), key))
    assert note.verify(root, [key.public], key_name="fairtrial.dev/a/b/c") == [key.public]


# --- Google -----------------------------------------------------------------------------------------------------------
class Google:
    """The two calls of Cloud KMS's gRPC service that a signer makes."""

    algorithm = kms.CryptoKeyVersion.CryptoKeyVersionAlgorithm.EC_SIGN_P256_SHA256

    def public_key(self, asked: Any, context: Any) -> Any:
        self._known(asked, context)
        assert asked.public_key_format == kms.PublicKey.PublicKeyFormat.PEM
        pem = PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return kms.PublicKey(name=GOOGLE, algorithm=self.algorithm, public_key={"data": pem})

    def sign(self, asked: Any, context: Any) -> Any:
        self._known(asked, context)
        return kms.AsymmetricSignResponse(signature=PRIVATE.sign(asked.digest.sha256, ECDSA(Prehashed(SHA256()))))

    @staticmethod
    def _known(asked: Any, context: Any) -> None:
        if asked.name != GOOGLE:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such key")


@pytest.fixture
def cloud_kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    service, server = Google(), grpc.server(ThreadPoolExecutor(2))
    methods = {
        "GetPublicKey": (service.public_key, kms.GetPublicKeyRequest, kms.PublicKey),
        "AsymmetricSign": (service.sign, kms.AsymmetricSignRequest, kms.AsymmetricSignResponse),
    }
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            call, request_deserializer=asked.deserialize, response_serializer=answer.serialize
        )
        for name, (call, asked, answer) in methods.items()
    }
    name = "google.cloud.kms.v1.KeyManagementService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    led = partial(kms.KeyManagementServiceClient, transport=KeyManagementServiceGrpcTransport(channel=channel))
    monkeypatch.setattr(google.kms, "KeyManagementServiceClient", led)
    yield service
    channel.close()
    server.stop(0).wait()


def test_a_key_at_google_signs(cloud_kms: Google) -> None:
    proves(keys.load(f"gcpkms:{GOOGLE}"))


def test_what_google_refuses_is_told(cloud_kms: Google) -> None:
    with pytest.raises(SigningFailed, match=r"^Signing key gcpkms:projects/x: .*no such key"):
        keys.load("gcpkms:projects/x")
    cloud_kms.algorithm = kms.CryptoKeyVersion.CryptoKeyVersionAlgorithm.HMAC_SHA256
    with pytest.raises(SigningFailed, match="is not a supported signing algorithm"):
        keys.load(f"gcpkms:{GOOGLE}")


# --- Azure ------------------------------------------------------------------------------------------------------------
class Vault(BaseHTTPRequestHandler):
    """The two calls of Key Vault that a signer makes, behind the challenge that it answers a stranger with."""

    versions: ClassVar[list[str]] = [VERSION]  # the last is the current one

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].split("/")[2]
        if self._welcome() and name == "signing":
            numbers = PRIVATE.public_key().public_numbers()
            point = {key: _url64(value.to_bytes(32, "big")) for key, value in (("x", numbers.x), ("y", numbers.y))}
            kid = f"{VAULT}/keys/signing/{self.versions[-1]}"
            key = {"kid": kid, "kty": "EC", "crv": "P-256", "key_ops": ["sign"], **point}
            self._answer(200, {"key": key, "attributes": {"enabled": True}})
        elif self.headers["Authorization"]:
            self._answer(404, {"error": {"code": "KeyNotFound", "message": "no such key"}})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if not self._welcome():
            return
        assert self.path.startswith(f"/keys/signing/{VERSION}/sign?"), self.path
        assert asked["alg"] == "ES256"
        digest = base64.urlsafe_b64decode(asked["value"] + "==")
        r, s = decode_dss_signature(PRIVATE.sign(digest, ECDSA(Prehashed(SHA256()))))
        raw = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        self._answer(200, {"kid": f"{VAULT}/keys/signing/{VERSION}", "value": _url64(raw)})

    def _welcome(self) -> bool:
        if self.headers["Authorization"]:
            return True
        told = 'Bearer authorization="https://login.microsoftonline.com/tenant", resource="https://vault.azure.net"'
        self._answer(401, {}, {"WWW-Authenticate": told})
        return False

    def _answer(self, status: int, body: Any, headers: Any = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        told = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        return


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class LoggedIn:
    """Azure's credential, without an account."""

    def get_token(self, *_: str, **__: Any) -> AccessToken:
        return AccessToken("token", 4102444800)


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Vault]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vault)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()

    class Led(RequestsTransport):
        def send(self, request: Any, **given: Any) -> Any:
            assert request.url.startswith(VAULT), request.url
            asked = request.url
            request.url = asked.replace(VAULT, f"http://127.0.0.1:{server.server_address[1]}")
            try:
                return super().send(request, **given)
            finally:
                request.url = asked  # which the client's policies look at: they tell a token over TLS alone

    monkeypatch.setattr(azure, "DefaultAzureCredential", LoggedIn)
    for client in ("KeyClient", "CryptographyClient"):
        led = partial(getattr(azure, client), transport=Led(), retry_total=0)
        monkeypatch.setattr(azure, client, led)
    yield Vault
    Vault.versions = [VERSION]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("version", ["", f"/{VERSION}"])
def test_a_key_at_azure_signs(vault: type[Vault], version: str) -> None:
    proves(keys.load(f"azurekms://trials.vault.azure.net/keys/signing{version}"))


def test_what_azure_refuses_is_told(vault: type[Vault]) -> None:
    with pytest.raises(SigningFailed, match="no such key"):
        keys.load("azurekms://trials.vault.azure.net/keys/other")
    for uri in ("azurekms:signing", "azurekms://trials.vault.azure.cn/keys/signing"):
        with pytest.raises(SigningFailed, match=r"is not of the form azurekms://VAULT\.vault\.azure\.net"):
            keys.load(uri)


def test_another_version_than_the_vaults_current_one_is_refused(vault: type[Vault]) -> None:
    """The client would sign with the current one, which is another key."""
    vault.versions = [VERSION, "f" * 32]

    with pytest.raises(SigningFailed, match=f"current version of the key is {'f' * 32}"):
        keys.load(f"azurekms://trials.vault.azure.net/keys/signing/{VERSION}")
