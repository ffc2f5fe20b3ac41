"""Signing keys by URI: a file, a hardware module, or a cloud's key service, through securesystemslib.

    file:/path/key.pem          PKCS#8 PEM without a password: Ed25519, or ECDSA on P-256
    hsm:2?label=TOKEN           PKCS#11 (PKCS11LIB names the library, FAIRTRIAL_SIGNING_PIN the PIN)
    awskms:… gcpkms:… azurekms:…

A key is never made in a part that signs: a key that appears by itself is one that nobody trusts. Ed25519 gives the same
bytes for the same content; ECDSA does not, so whoever signs with it must keep what was signed first.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlparse

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.signer import AWSSigner, AzureSigner, CryptoSigner, GCPSigner, HSMSigner, Signer, SSlibKey

from fairtrial.attest.publickey import PublicKey
from fairtrial.errors import SigningFailed, Unproven

KEY_VARIABLE = "FAIRTRIAL_SIGNING_KEY"
DEVELOPMENT_VARIABLE = "FAIRTRIAL_SIGNING_DEVELOPMENT"
PIN_VARIABLE = "FAIRTRIAL_SIGNING_PIN"
FILE_MODE = 0o600


@dataclass(frozen=True)
class SigningKey:
    """A key that can sign. `development`: it was made for trying things out, and says so wherever it is named."""

    signer: Signer
    public: PublicKey
    development: bool = False

    @property
    def key_id(self) -> str:
        """SHA-256 of the public key's SubjectPublicKeyInfo."""
        return self.public.key_id


def from_environment(environment: Mapping[str, str] = os.environ) -> SigningKey | None:
    """The key that the environment names; None where it names none."""
    uri = environment.get(KEY_VARIABLE, "")
    if not uri:
        return None
    development = environment.get(DEVELOPMENT_VARIABLE, "").lower() == "true"
    return load(uri, development=development, pin=environment.get(PIN_VARIABLE, ""))


def load(uri: str, *, development: bool = False, pin: str = "") -> SigningKey:
    """The key at `uri`; SigningFailed where it can't be used, with the reason."""
    scheme, _, rest = uri.partition(":")
    if scheme == "file":
        return _of_file(Path(urlparse(uri).path), development=development)
    if scheme not in _REMOTE:
        schemes = ", ".join(f"{name}:" for name in ("file", *_REMOTE))
        raise SigningFailed(f"Signing key {uri!r}: has no known scheme.", next_move=f"Begin it with one of {schemes}.")
    try:
        known, public = _REMOTE[scheme](rest, lambda _: pin)
        signer = Signer.from_priv_key_uri(known, public, lambda _: pin)
        key = PublicKey.from_pem(public.keyval["public"])
    except Exception as error:  # each provider's client has errors of its own, and they share no base class
        raise SigningFailed(f"Signing key {uri}: {type(error).__name__}: {error}") from error
    return SigningKey(signer, key, development)


def new(path: Path) -> SigningKey:
    """Make an Ed25519 key in a new file that its owner alone may read; refuses one that exists."""
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except OSError as error:
        raise SigningFailed(f"Signing key {path}: can't be made: {error.strerror}.") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
    return of_private(private)


def of_private(private: Ed25519PrivateKey | EllipticCurvePrivateKey, *, development: bool = False) -> SigningKey:
    """A key that is in memory."""
    public = PublicKey.of(private.public_key())
    return SigningKey(CryptoSigner(private, SSlibKey.from_crypto(private.public_key())), public, development)


def _of_file(path: Path, *, development: bool) -> SigningKey:
    try:
        private = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise SigningFailed(f"Signing key {path}: can't be read: {error.strerror}.") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SigningFailed(f"Signing key {path}: is no PKCS#8 PEM key without a password: {error}.") from error
    if not isinstance(private, Ed25519PrivateKey | EllipticCurvePrivateKey):
        raise SigningFailed(f"Signing key {path}: is neither Ed25519 nor ECDSA.", next_move="Run `fairtrial keys new`.")
    try:
        return of_private(private, development=development)
    except Unproven as error:
        raise SigningFailed(f"Signing key {path}: {error}") from error


# --- keys that never leave where they are -----------------------------------------------------------------------------
def _hsm(rest: str, pin: Callable[[str], str]) -> tuple[str, SSlibKey]:
    slot, _, query = rest.partition("?")
    return HSMSigner.import_(int(slot) if slot else None, dict(parse_qsl(query)).get("label"), pin)


def _azure(rest: str, _pin: Callable[[str], str]) -> tuple[str, SSlibKey]:
    """`azurekms://VAULT.vault.azure.net/keys/NAME/…`."""
    parts = urlparse(f"azurekms:{rest}")
    return AzureSigner.import_((parts.hostname or "").partition(".")[0], parts.path.split("/")[2])


_REMOTE: dict[str, Callable[[str, Callable[[str], str]], tuple[str, SSlibKey]]] = {
    "hsm": _hsm,
    "awskms": lambda rest, _pin: AWSSigner.import_(rest),
    "gcpkms": lambda rest, _pin: GCPSigner.import_(rest),
    "azurekms": _azure,
}
