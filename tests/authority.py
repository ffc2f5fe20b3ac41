"""A time-stamp authority for tests: its own root, and replies made by `openssl ts`, a second implementation.

with authority.serve(tmp_path) as tsa:
    reply = timestamps.ask(tsa.url, data)
    TrustList(timestamp_authorities=(trust.authority("test", tsa.root_pem),))
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CONFIG = """
[tsa]
default_tsa = here
[here]
serial = serial
signer_cert = signer.pem
signer_key = signer.key
signer_digest = sha256
default_policy = 1.3.6.1.4.1.99999.1
digests = sha256, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
"""


@dataclass
class Authority:
    """One authority; `folder` holds its keys."""

    folder: Path
    root_pem: str
    url: str = ""
    refuse: bool = False  # answer 503
    asked: int = 0

    def reply(self, request: bytes) -> bytes:
        """What it answers a request: its signer's certificate is the only one inside."""
        (self.folder / "request.tsq").write_bytes(request)
        command = ["openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "request.tsq", "-out", "reply.tsr"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        return (self.folder / "reply.tsr").read_bytes()


def make(folder: Path, name: str = "Test authority", *, years: int = 10) -> Authority:
    """A new authority in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    root_key, key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    root = _certificate(f"{name} root", root_key, f"{name} root", root_key, years=years, ca=True)
    signer = _certificate(name, key, f"{name} root", root_key, years=years, ca=False)
    root_pem = root.public_bytes(Encoding.PEM).decode()
    (folder / "root.pem").write_text(root_pem)
    (folder / "signer.pem").write_bytes(signer.public_bytes(Encoding.PEM))
    (folder / "signer.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(_CONFIG)
    return Authority(folder, root_pem)


@contextmanager
def serve(folder: Path, host: str = "127.0.0.1") -> Iterator[Authority]:
    """The same, answering over HTTP."""
    authority, lock = make(folder), Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                authority.asked += 1
                reply = b"" if authority.refuse else authority.reply(request)
            self.send_response(503 if authority.refuse else 200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer((host, 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    authority.url = f"http://{host}:{server.server_address[1]}/"
    try:
        yield authority
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _certificate(
    name: str, key: EllipticCurvePrivateKey, issuer: str, by: EllipticCurvePrivateKey, *, years: int, ca: bool
) -> x509.Certificate:
    begin = datetime.now(UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=365 * years))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
    )
    usage = x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )
    made = made.add_extension(usage, critical=True)
    if not ca:
        made = made.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
    return made.sign(by, SHA256())
