"""Keys in PKCS#11 tokens: hardware modules, smartcards, SoftHSM. `hsm:[KEY-ID][?label=TOKEN]`, ECDSA P-256.

securesystemslib logs in for each signature, and two things are added to it. A process has one login to a token, so that
two signatures at once log each other out: here they wait for each other. And most tokens lock themselves after a few
wrong PINs, so that a step which is done again until it succeeds must not try one twice.
"""

import os
import re
from collections.abc import Callable
from threading import Lock
from urllib.parse import parse_qs, urlencode

from securesystemslib.exceptions import UnsupportedLibraryError
from securesystemslib.signer import HSMSigner, Signature, SSlibKey

from fairtrial.errors import SigningFailed

LIBRARY_VARIABLE = "PYKCS11LIB"  # as securesystemslib names it
_ONE_AT_A_TIME = Lock()
_WRONG_PIN = "PinIncorrect"
# By the name of python-pkcs11's error, which has no text of its own.
_MEANINGS = {
    _WRONG_PIN: "the token refuses the PIN; it is not tried again, since tokens lock themselves after a few wrong ones",
    "PinLocked": "the token has locked itself after too many wrong PINs",
    "UserPinNotInitialized": "the token was not given a PIN yet",
    "PinExpired": "the PIN has expired",
}
_SET_PIN = "Set the right PIN, and start this again."
_NO_ANSWER = "the token does not answer; it may have been taken out"


class TokenSigner(HSMSigner):
    """Signs in a token."""

    _refused = ""  # why nothing is tried any more

    def sign(self, payload: bytes) -> Signature:
        """Sign, when no other thread does; SigningFailed with the token's reason."""
        with _ONE_AT_A_TIME:
            if self._refused:
                raise SigningFailed(self._refused, next_move=_SET_PIN)
            try:
                return super().sign(payload)
            except Exception as error:  # ValueError, python-pkcs11's, and those of securesystemslib
                told = _told(error)
                if type(error).__name__ == _WRONG_PIN:
                    self._refused = told.message
                raise told from error


def load(rest: str, pin: Callable[[str], str]) -> tuple[TokenSigner, SSlibKey]:
    """The key that the rest of a URI names, and its public half; the PIN is asked for it only if the token hides it."""
    number, _, query = rest.partition("?")
    given = parse_qs(query, keep_blank_values=True)
    if not re.fullmatch(r"[0-9]{0,9}", number) or set(given) - {"label"}:
        raise SigningFailed(f"{rest!r} is not of the form KEY-ID?label=TOKEN, with a decimal number.")
    label = given["label"][0] if given else None
    with _ONE_AT_A_TIME:
        try:
            _, public = TokenSigner.import_(int(number) if number else None, label, pin)
        except SigningFailed:
            raise
        except Exception as error:
            raise _told(error) from error
    uri = f"hsm:{number}" + (f"?{urlencode({'label': label})}" if label else "")
    signer = TokenSigner.from_priv_key_uri(uri, public, pin)
    assert isinstance(signer, TokenSigner)
    return signer, public


def _told(error: Exception) -> SigningFailed:
    """What a person can do something with; and the module is made to look again for its tokens next time."""
    name = type(error).__name__
    if isinstance(error, UnsupportedLibraryError):
        return SigningFailed(f"{error}.", next_move="Install fairtrial[hsm].")
    if isinstance(error, SigningFailed):
        return error
    if name not in _MEANINGS:
        _forget()
    if isinstance(error, ValueError):  # securesystemslib's own: no such token, no such key, no library named
        return SigningFailed(f"{error}.", next_move=f"Check KEY-ID, label and {LIBRARY_VARIABLE}.")
    says = _MEANINGS.get(name) or str(error) or _NO_ANSWER
    return SigningFailed(f"{says} ({name}).", next_move=_SET_PIN if name == _WRONG_PIN else "")


def _forget() -> None:
    """Close the module: it reads its list of tokens when it is opened, and would not see one that came back."""
    import pkcs11

    try:
        pkcs11.lib(os.environ.get(LIBRARY_VARIABLE, "")).finalize()
    except pkcs11.PKCS11Error:
        return  # it was never open
