"""The calls of the Kubernetes API that the gateway makes, as plain JSON over HTTPS."""

import ssl
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from fairtrial import names
from fairtrial.errors import FairtrialError
from fairtrial_gateway.settings import Settings

TIMEOUT = aiohttp.ClientTimeout(total=10, connect=3)
OK, CREATED, UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 200, 201, 401, 403, 404


class ApiUnavailable(FairtrialError):
    """The Kubernetes API did not answer, or not to us. Nobody can be identified meanwhile."""

    reason = "IdentityUnavailable"


class ApiForbidden(ApiUnavailable):
    """The Kubernetes API does not let the gateway do this: it will not pass by itself."""


class KubernetesApi:
    """One API server. Its own token is read again for every call: the kubelet renews the file."""

    def __init__(self, settings: Settings) -> None:
        self._url, self._token_file = settings.kubernetes_url, Path(settings.kubernetes_token_file)
        secure = settings.kubernetes_url.startswith("https:")
        self._tls = ssl.create_default_context(cafile=settings.kubernetes_ca_file) if secure else None
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close idle connections."""
        if self._session:
            await self._session.close()

    async def review_token(self, token: str, audiences: tuple[str, ...]) -> dict[str, Any]:
        """The status of a TokenReview: who the token is of, and for which of the audiences it is good."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": list(audiences)},
        }
        status, answer = await self._call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
        if status not in (OK, CREATED):
            raise _unavailable("create tokenreviews.authentication.k8s.io", status, answer)
        review: dict[str, Any] = answer["status"]
        return review

    async def benchmark_run(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A BenchmarkRun, or None if there is none of this name."""
        return await self._get(f"apis/{names.API_VERSION}", namespace, f"benchmarkruns.{names.GROUP}", name)

    async def model_provider(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A ModelProvider, or None if there is none of this name."""
        return await self._get(f"apis/{names.API_VERSION}", namespace, f"modelproviders.{names.GROUP}", name)

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A Secret, or None if there is none of this name."""
        return await self._get("api/v1", namespace, "secrets", name)

    async def endpoint_slices(self, namespace: str, service: str) -> list[dict[str, Any]]:
        """The EndpointSlices of a Service."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{quote(namespace)}/endpointslices"
        status, answer = await self._call("GET", f"{path}?labelSelector=kubernetes.io/service-name={quote(service)}")
        if status != OK:
            raise _unavailable("list endpointslices.discovery.k8s.io", status, answer)
        return list(answer.get("items") or [])

    async def _get(self, api: str, namespace: str, resource: str, name: str) -> dict[str, Any] | None:
        path = f"/{api}/namespaces/{quote(namespace)}/{resource.partition('.')[0]}/{quote(name)}"
        status, answer = await self._call("GET", path)
        if status == NOT_FOUND and answer.get("details", {}).get("name") == name:
            return None
        if status != OK:
            raise _unavailable(f"get {resource} {namespace}/{name}", status, answer)
        return answer

    async def _call(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._tls or True, limit=20), timeout=TIMEOUT
            )
        headers = {"Authorization": f"Bearer {self._own_token()}", "Accept": "application/json"}
        try:
            async with self._session.request(method, self._url + path, json=body, headers=headers) as answer:
                parsed = await answer.json(content_type=None)
                return answer.status, parsed if isinstance(parsed, dict) else {}
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ApiUnavailable(
                f"The Kubernetes API did not answer ({type(error).__name__}).", next_move="Try again."
            ) from error

    def _own_token(self) -> str:
        try:
            return self._token_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ApiUnavailable(f"{self._token_file}: the gateway's own token cannot be read: {error}.") from error


def _unavailable(what: str, status: int, answer: dict[str, Any]) -> ApiUnavailable:
    allow = f"Allow the gateway's service account to {what}." if status in (UNAUTHORIZED, FORBIDDEN) else "Try again."
    kind = ApiForbidden if status == FORBIDDEN else ApiUnavailable
    return kind(
        f"{what}: the Kubernetes API answered {status} {answer.get('reason', '')}.".replace(" .", "."), next_move=allow
    )
