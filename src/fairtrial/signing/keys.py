"""Signing keys by URI: a file, a hardware module, or a cloud's key service, through securesystemslib.

    file:/path/key.pem          PKCS#8 PEM without a password: Ed25519, or ECDSA on P-256
    hsm:2?label=TOKEN           PKCS#11 (PYKCS11LIB names the library, FAIRTRIAL_SIGNING_PIN the PIN)
    awskms:KEY-ID
    gcpkms:projects/…/cryptoKeyVersions/1
    azurekms://VAULT.vault.azure.net/keys/NAME[/VERSION]

A key is never made in a part that signs: a key that appears by itself is one that nobody trusts. Ed25519 gives the same
bytes for the same content; ECDSA does not, so whoever signs with it must keep what was signed first.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlparse

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from fairtrial.attest.publickey import PublicKey
from fairtrial.errors import SigningFailed, Unproven

KEY_VARIABLE = "FAIRTRIAL_SIGNING_KEY"
DEVELOPMENT_VARIABLE = "FAIRTRIAL_SIGNING_DEVELOPMENT"
PIN_VARIABLE = "FAIRTRIAL_SIGNING_PIN"
REMOTE = ("hsm", "awskms", "gcpkms", "azurekms")  # schemes of keys that never leave where they are
FILE_MODE = 0o600


class Signature(Protocol):
    """What securesystemslib's signers give, among other things."""

    @property
    def signature(self) -> str:
        """In hexadecimal."""


class Signer(Protocol):
    """Every signer of securesystemslib is one."""

    def sign(self, payload: bytes) -> Signature:
        """Sign these bytes."""


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


@dataclass(frozen=True)
class _Signature:
    signature: str


@dataclass(frozen=True)
class _InMemory:
    """A private key at hand; ECDSA is over SHA-256, in ASN.1 DER."""

    private: Ed25519PrivateKey | EllipticCurvePrivateKey

    def sign(self, payload: bytes) -> _Signature:
        if isinstance(self.private, Ed25519PrivateKey):
            return _Signature(self.private.sign(payload).hex())
        return _Signature(self.private.sign(payload, ECDSA(SHA256())).hex())


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
    if scheme not in REMOTE:
        schemes = ", ".join(f"{name}:" for name in ("file", *REMOTE))
        raise SigningFailed(f"Signing key {uri!r}: has no known scheme.", next_move=f"Begin it with one of {schemes}.")
    # Here, since securesystemslib loads the clients of all clouds: a second that a key in a file is not to cost.
    from fairtrial.signing import remote

    signer, key = remote.load(scheme, rest, _asked(pin))
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
    return SigningKey(_InMemory(private), public, development)


def _asked(pin: str) -> Callable[[str], str]:
    """Gives the PIN to what asks for it; nobody's token is tried with none."""

    def give(_: str) -> str:
        if not pin:
            raise SigningFailed("the token wants a PIN.", next_move=f"Set {PIN_VARIABLE}.")
        return pin

    return give


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
