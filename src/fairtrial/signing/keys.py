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
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.exceptions import UnsupportedLibraryError
from securesystemslib.signer import AWSSigner, AzureSigner, CryptoSigner, GCPSigner, Signer, SSlibKey

from fairtrial.attest.publickey import PublicKey
from fairtrial.errors import SigningFailed, Unproven
from fairtrial.signing import token

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
        signer, public = _REMOTE[scheme](rest, _asked(pin))
        key = PublicKey.from_pem(public.keyval["public"])
    except SigningFailed as error:
        raise SigningFailed(f"Signing key {uri}: {error.message}", next_move=error.next_move) from error
    except UnsupportedLibraryError as error:
        raise SigningFailed(f"Signing key {uri}: {error}", next_move=f"Install fairtrial[{scheme}].") from error
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
def _asked(pin: str) -> Callable[[str], str]:
    """Gives the PIN to what asks for it; nobody's token is tried with none."""

    def give(_: str) -> str:
        if not pin:
            raise SigningFailed("the token wants a PIN.", next_move=f"Set {PIN_VARIABLE}.")
        return pin

    return give


def _aws(rest: str, _pin: Callable[[str], str]) -> tuple[Signer, SSlibKey]:
    uri, public = AWSSigner.import_(rest)
    return AWSSigner.from_priv_key_uri(uri, public), public


def _google(rest: str, _pin: Callable[[str], str]) -> tuple[Signer, SSlibKey]:
    uri, public = GCPSigner.import_(rest)
    return GCPSigner.from_priv_key_uri(uri, public), public


def _azure(rest: str, _pin: Callable[[str], str]) -> tuple[Signer, SSlibKey]:
    """The vault's current version of the key. securesystemslib asks for no other, and knows the public cloud alone."""
    found = _AZURE.fullmatch(rest)
    if not found:
        raise SigningFailed("is not of the form azurekms://VAULT.vault.azure.net/keys/NAME[/VERSION].")
    uri, public = AzureSigner.import_(found["vault"], found["name"])
    if found["version"] and not uri.endswith(f"/{found['version']}"):
        raise SigningFailed(f"the vault's current version of the key is {uri.rpartition('/')[2]}.")
    return AzureSigner.from_priv_key_uri(uri, public), public


_AZURE = re.compile(
    r"//(?P<vault>[A-Za-z0-9-]+)\.vault\.azure\.net/keys/(?P<name>[A-Za-z0-9-]+)(/(?P<version>[0-9a-f]+))?"
)
_REMOTE: dict[str, Callable[[str, Callable[[str], str]], tuple[Signer, SSlibKey]]] = {
    "hsm": token.load,
    "awskms": _aws,
    "gcpkms": _google,
    "azurekms": _azure,
}
