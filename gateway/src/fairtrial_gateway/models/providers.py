"""Providers as the cluster has them: a ModelProvider and the one key of a Secret that it names."""

import base64
import binascii
from typing import Protocol

from fairtrial.api import ModelProvider, parse
from fairtrial.errors import FairtrialError
from fairtrial_gateway.identity import Once
from fairtrial_gateway.kubernetes import ApiForbidden
from fairtrial_gateway.models.parties import Provider


class ProviderUnusable(FairtrialError):
    """The ModelProvider or its Secret is not there, or not what it should be."""

    reason = "ProviderUnusable"


class ProviderApi(Protocol):
    """What of the Kubernetes API is needed here."""

    async def model_provider(self, namespace: str, name: str) -> dict[str, object] | None:
        """A ModelProvider."""

    async def secret(self, namespace: str, name: str) -> dict[str, object] | None:
        """A Secret."""


class Providers:
    """Reads providers, each once in a few seconds: a new credential is used soon."""

    def __init__(self, api: ProviderApi, ttl: float) -> None:
        self._api, self._ttl = api, ttl
        self._kept: Once[tuple[str, str], Provider] = Once()

    async def get(self, namespace: str, name: str) -> Provider:
        """A provider; `ProviderUnusable` says what is wrong with it."""

        async def read() -> tuple[Provider, float]:
            return await self._read(namespace, name), self._ttl

        return await self._kept.get((namespace, name), read)

    async def _read(self, namespace: str, name: str) -> Provider:
        raw = await self._api.model_provider(namespace, name)
        if raw is None:
            raise ProviderUnusable(f"ModelProvider {namespace}/{name}: there is none.", next_move="Create it.")
        found = parse(ModelProvider, raw, name=f"ModelProvider {namespace}/{name}")
        reference = found.spec.credential_secret_ref
        what = f"ModelProvider {namespace}/{name}: credentialSecretRef: Secret {reference.name}"
        try:
            secret = await self._api.secret(namespace, reference.name)
        except ApiForbidden as error:  # one provider's trouble, which no waiting ends
            mend = f"Add {{namespace: {namespace}, name: {reference.name}}} to gateway.providerSecrets of the chart."
            raise ProviderUnusable(f"{what} may not be read by the gateway.", next_move=mend) from error
        data = (secret or {}).get("data")
        value = data.get(reference.key) if isinstance(data, dict) else None
        if not isinstance(value, str):
            where = "is not there" if secret is None else f"has no key {reference.key!r}"
            raise ProviderUnusable(f"{what} {where}.", next_move="Create it, in the same namespace.")
        return Provider(namespace, name, found.metadata.uid, found.spec, _credential(value, what))


def _credential(value: str, what: str) -> str:
    try:
        credential = base64.b64decode(value, validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError):
        credential = ""
    if not credential or not credential.isprintable():
        raise ProviderUnusable(f"{what} holds no credential.", next_move="Put the bare key into it: one line of ASCII.")
    return credential
