"""Further secrets that must not be found in what agents say and hear: those of named Secrets, for a namespace's runs.

The administrator names Secrets by namespace; each of their keys is one canary. No spec and no evidence holds more of
it than this name.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Protocol

from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.secrets.scan import SECRET_MIN
from fairtrial_gateway.identity import Once
from fairtrial_gateway.kubernetes import ApiForbidden

CANARIES_MAX = 64  # of one namespace: each is looked for in everything


class CanariesUnreadable(FairtrialError):
    """A Secret with canaries is not there, or not what it should be: nobody could say that they did not leak."""

    reason = "CanariesUnreadable"


class SecretApi(Protocol):
    """What of the Kubernetes API is needed here."""

    async def secret(self, namespace: str, name: str) -> dict[str, object] | None:
        """A Secret."""


class Canaries:
    """Reads canaries, each Secret once in a few seconds."""

    def __init__(self, api: SecretApi, named: Mapping[str, tuple[str, ...]], ttl: float) -> None:
        self._api, self._named, self._ttl = api, named, ttl
        self._kept: Once[str, dict[str, bytes]] = Once()

    async def get(self, namespace: str) -> dict[str, bytes]:
        """The canaries for a namespace's runs, by name; `CanariesUnreadable` says what is wrong with them."""
        names = self._named.get(namespace)
        if not names:
            return {}

        async def read() -> tuple[dict[str, bytes], float]:
            found: dict[str, bytes] = {}
            for name in names:
                found |= await self._read(namespace, name)
            if len(found) > CANARIES_MAX:
                message = f"Namespace {namespace} has {len(found)} canaries; {CANARIES_MAX} are looked for at most."
                raise CanariesUnreadable(message)
            return found, self._ttl

        return await self._kept.get(namespace, read)

    async def _read(self, namespace: str, name: str) -> dict[str, bytes]:
        what = f"Secret {namespace}/{name} of gateway.canarySecrets"
        try:
            secret = await self._api.secret(namespace, name)
        except ApiForbidden as error:
            mend = "Name it in gateway.canarySecrets of the chart."
            raise CanariesUnreadable(f"{what} may not be read by the gateway.", next_move=mend) from error
        if secret is None:
            raise CanariesUnreadable(f"{what} is not there.", next_move="Create it, or take it out of the list.")
        return canaries_of(name, secret.get("data"), what)


def canaries_of(name: str, data: object, what: str) -> dict[str, bytes]:
    """Each key's value, by `canary:SECRET/KEY`; a line break at its end is not a part of it. Pure."""
    found: dict[str, bytes] = {}
    for key, value in data.items() if isinstance(data, dict) else ():
        try:
            canary = base64.b64decode(str(value), validate=True).rstrip(b"\r\n")
        except (binascii.Error, ValueError):
            canary = b""
        if len(canary) < SECRET_MIN:
            message = f"{what}: key {key}: fewer than {SECRET_MIN} bytes cannot be told from chance."
            raise CanariesUnreadable(message, next_move="Use a longer canary.")
        found[f"canary:{name}/{key}"] = canary
    return found


def named_of(text: str) -> dict[str, tuple[str, ...]]:
    """Names of Secrets by namespace, from the administrator's JSON list of `{namespace, name}`. Pure."""
    try:
        raw = json.loads(text or "[]")
        named: dict[str, tuple[str, ...]] = {}
        for each in raw:
            namespace, name = str(each["namespace"]), str(each["name"])
            named[namespace] = (*named.get(namespace, ()), name)
    except (ValueError, TypeError, KeyError) as error:
        message = "FAIRTRIAL_GATEWAY_CANARY_SECRETS: must be a JSON list of objects with namespace and name."
        raise InvalidInput(message) from error
    return named
