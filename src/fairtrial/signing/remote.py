"""Keys that never leave where they are: hardware modules and the clouds' key services, through securesystemslib."""

import re
from collections.abc import Callable

from securesystemslib.exceptions import UnsupportedLibraryError
from securesystemslib.signer import AWSSigner, AzureSigner, GCPSigner, Signer, SSlibKey

from fairtrial.attest.publickey import PublicKey
from fairtrial.errors import SigningFailed
from fairtrial.signing import token


def load(scheme: str, rest: str, pin: Callable[[str], str]) -> tuple[Signer, PublicKey]:
    """The key at `scheme:rest`, and its public half; SigningFailed where it can't be used. `pin` is called if a token
    wants one.
    """
    uri = f"{scheme}:{rest}"
    try:
        signer, public = _BY_SCHEME[scheme](rest, pin)
        return signer, PublicKey.from_pem(public.keyval["public"])
    except SigningFailed as error:
        raise SigningFailed(f"Signing key {uri}: {error.message}", next_move=error.next_move) from error
    except UnsupportedLibraryError as error:
        raise SigningFailed(f"Signing key {uri}: {error}", next_move=f"Install fairtrial[{scheme}].") from error
    except Exception as error:  # each provider's client has errors of its own, and they share no base class
        raise SigningFailed(f"Signing key {uri}: {type(error).__name__}: {error}") from error


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
_BY_SCHEME: dict[str, Callable[[str, Callable[[str], str]], tuple[Signer, SSlibKey]]] = {
    "hsm": token.load,
    "awskms": _aws,
    "gcpkms": _google,
    "azurekms": _azure,
}
