"""The few verbs of the Kubernetes API that the operator needs, on plain dicts.

There is no client library below: a dict goes out as it came in, and a library's models take 20 MB. Errors are
translated here. Every write passes `_write`, where it is counted.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import aiohttp
from pydantic_core import from_json, to_json

from fairtrial import names
from fairtrial.errors import FairtrialError
from fairtrial_operator.login import Credentials, login
from fairtrial_operator.metrics import API_WRITES

Object = dict[str, Any]
ATTEMPTS = 4
PAGE = 100  # objects: a pod of a few kilobytes is ten times as much as dicts, and a page is in memory whole
REQUEST_SECONDS = 30
CONNECTIONS = 100  # watches among them
MERGE, JSON_PATCH, APPLY = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)


class Resource(NamedTuple):
    """Where a kind lives in the API."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None, name: str | None = None, sub: str | None = None) -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        parts = ["api" if "/" not in self.api_version else "apis", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/" + "/".join([*parts, self.plural, *([name] if name else []), *([sub] if sub else [])])


PODS = Resource("v1", "Pod", "pods")
JOBS = Resource("batch/v1", "Job", "jobs")
SERVICES = Resource("v1", "Service", "services")
NODES = Resource("v1", "Node", "nodes", namespaced=False)
EVENTS = Resource("v1", "Event", "events")
NAMESPACES = Resource("v1", "Namespace", "namespaces", namespaced=False)
SERVICE_ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts")
POLICIES = Resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases")
RUNS = Resource(names.API_VERSION, "BenchmarkRun", "benchmarkruns")
TASKS = Resource(names.API_VERSION, "BenchmarkTask", "benchmarktasks")
COHORTS = Resource(names.API_VERSION, "BenchmarkCohort", "benchmarkcohorts")
PROVIDERS = Resource(names.API_VERSION, "ModelProvider", "modelproviders")
CLASSES = Resource(names.API_VERSION, "ResourceClass", "resourceclasses", namespaced=False)


class ApiError(FairtrialError):
    """The API server refused a request."""

    reason = "ApiError"

    def __init__(self, status: int, api_reason: str, message: str, retry_after: float | None = None) -> None:
        self.status, self.api_reason, self.retry_after = status, api_reason, retry_after
        super().__init__(f"The API server answered {status} {api_reason}: {message}")


class NotFound(ApiError):
    """There is no such object (404)."""


class AlreadyExists(ApiError):
    """An object of that name exists (409)."""


class Changed(ApiError):
    """The object is not what the write assumed (409, or a JSON patch whose test failed)."""


class Forbidden(ApiError):
    """Not allowed (403): quota, Pod Security, a namespace that is going away, or missing rights."""


class Expired(ApiError):
    """The resource version is too old to watch or page on from (410)."""


class Invalid(ApiError):
    """The object itself is refused (422, 400)."""


class ApiUnavailable(ApiError):
    """The API server did not answer, or asked for patience until we ran out of it."""


class Kube:
    """One connection pool to one API server."""

    def __init__(self, server: str, tls: ssl.SSLContext, credentials: Credentials) -> None:
        self._server, self._credentials = server.rstrip("/"), credentials
        # Not trust_env: ~/.netrc and the proxies' variables would be read for every request.
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, limit=CONNECTIONS))

    @classmethod
    async def connect(cls) -> "Kube":
        """Use the pod's service account, or the current kubeconfig where there is none."""
        found = login()
        return cls(found.server, found.as_ssl_context(), Credentials(found))

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    # --- reading ------------------------------------------------------------------------------------------------------
    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """One object; NotFound where there is none."""
        return await self._request("GET", resource.path(namespace, name))

    async def list_page(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        selector: str = "",
        fields: str = "",
        limit: int = PAGE,
        token: str = "",
    ) -> Object:
        """One page of one or all namespaces' objects, read from the store and not from a cache."""
        query = {"limit": str(limit)} | ({"labelSelector": selector} if selector else {})
        query |= {"fieldSelector": fields} if fields else {}
        return await self._request("GET", resource.path(namespace), query | ({"continue": token} if token else {}))

    async def watch(
        self, resource: Resource, version: str, *, selector: str = "", silence: float = 90
    ) -> AsyncIterator[Object]:
        """Events from `version` on, bookmarks included. Ends when the server does; raises after `silence` seconds."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}
        query |= {"labelSelector": selector} if selector else {}
        timeout = aiohttp.ClientTimeout(total=None, connect=REQUEST_SECONDS, sock_read=silence)
        response = await self._send("GET", resource.path(None), query, limit=timeout)
        try:
            if response.status != 200:  # noqa: PLR2004 — HTTP's own number
                raise _error(response.status, response.headers, await response.read())
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield from_json(line)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiUnavailable(0, "WatchCut", repr(error)) from error
        finally:
            response.close()

    # --- writing ------------------------------------------------------------------------------------------------------
    async def create(self, resource: Resource, body: Object) -> Object:
        """Create; AlreadyExists where the name is taken."""
        return await self._write("POST", resource.path(body["metadata"].get("namespace")), body)

    async def apply(self, resource: Resource, body: Object, *, sub: str | None = None) -> Object:
        """Server-side apply as the operator's field manager. With a resourceVersion in `body`, Changed if it moved."""
        metadata = body["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], sub)
        query = {"fieldManager": names.FIELD_MANAGER, "force": "true"}
        return await self._write("PATCH", path, body, APPLY, query)

    async def apply_status(self, resource: Resource, body: Object) -> Object:
        """Server-side apply of the whole status that the operator owns."""
        return await self.apply(resource, body, sub="status")

    async def patch(self, resource: Resource, live: Object, operations: list[Object]) -> Object:
        """JSON patch, on the condition that `live` is still the same object."""
        metadata = live["metadata"]
        test = [{"op": "test", "path": "/metadata/uid", "value": metadata["uid"]}]
        path = resource.path(metadata.get("namespace"), metadata["name"])
        try:
            return await self._write("PATCH", path, [*test, *operations], JSON_PATCH)
        except Invalid as error:
            raise Changed(error.status, error.api_reason, error.message) from error

    async def set_finalizer(
        self, resource: Resource, live: Object, finalizer: str, *, present: bool, label: str = ""
    ) -> Object:
        """Add or remove one finalizer without touching others, tested against the list that was seen; and with the same
        write say "true" in a label.
        """
        metadata = live["metadata"]
        old = metadata.get("finalizers") or []
        new = [item for item in old if item != finalizer] + ([finalizer] if present else [])
        where = {"path": "/metadata/finalizers"}
        if old:
            operations = [{"op": "test", "value": old} | where, {"op": "replace", "value": new} | where]
        else:
            test = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
            operations = [test, {"op": "add", "value": new} | where]
        if label and metadata.get("labels"):
            operations.append({"op": "add", "path": f"/metadata/labels/{label.replace('/', '~1')}", "value": "true"})
        return await self.patch(resource, live, operations)

    async def delete(self, resource: Resource, live: Object, *, grace: int | None = None) -> Object | None:
        """Delete that very object: its UID is a precondition. What is left of it for now, or None if it is gone."""
        metadata = live["metadata"]
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata["uid"]}}
        body["propagationPolicy"] = "Background"  # a Job's pods would be left behind by default
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            left = await self._write("DELETE", resource.path(metadata.get("namespace"), metadata["name"]), body)
        except (NotFound, Changed):
            return None
        return left if left.get("kind") == resource.kind and grace != 0 else None

    # --- transport ----------------------------------------------------------------------------------------------------
    async def _write(
        self,
        verb: str,
        path: str,
        body: Any,
        media_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        API_WRITES.labels(verb).inc()
        return await self._request(verb, path, query, body=body, media_type=media_type)

    async def _request(
        self,
        verb: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        media_type: str = "application/json",
    ) -> Object:
        """Send; wait and send again where the server asks for patience (429, 5xx with Retry-After)."""
        error: ApiError = ApiUnavailable(0, "NotSent", path)
        for attempt in range(ATTEMPTS):
            try:
                response = await self._send(verb, path, query, body=body, media_type=media_type)
                data = await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as cause:
                raise ApiUnavailable(0, "NoAnswer", f"{verb} {path}: {cause!r}") from cause
            if response.status < 400:  # noqa: PLR2004 — HTTP's own number
                result: Object = from_json(data)
                return result
            error = _error(response.status, response.headers, data)
            if not isinstance(error, ApiUnavailable) or error.retry_after is None:
                raise error
            await asyncio.sleep(min(error.retry_after, 10) * (1 + attempt / 2))
        raise error

    async def _send(
        self,
        verb: str,
        path: str,
        query: Mapping[str, str] | None,
        *,
        body: Any = None,
        media_type: str = "application/json",
        limit: aiohttp.ClientTimeout | None = None,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": media_type} | self._credentials.headers()
        url = f"{self._server}{path}" + (f"?{urlencode(query)}" if query else "")
        limit = limit or aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        data = None if body is None else to_json(body)
        return await self._session.request(verb, url, headers=headers, data=data, timeout=limit)


def _error(status: int, headers: Mapping[str, str], data: bytes) -> ApiError:
    try:
        told = json.loads(data)
    except ValueError:
        told = {}
    told = told if isinstance(told, dict) else {}
    message, reason = str(told.get("message", data[:300])), str(told.get("reason", ""))
    return translate(status, reason, message, headers.get("Retry-After"))


def translate(status: int, reason: str, message: str, retry_after: str | None = None) -> ApiError:
    """The one mapping from the API's status codes to our errors; also used for the ERROR events of a watch."""
    kinds: dict[int, type[ApiError]] = {400: Invalid, 403: Forbidden, 404: NotFound, 410: Expired, 422: Invalid}
    wait = float(retry_after) if retry_after and retry_after.isdecimal() else None
    if status == 409:  # noqa: PLR2004 — HTTP's own number
        return (AlreadyExists if reason == "AlreadyExists" else Changed)(status, reason, message)
    if status == 429 or status >= 500:  # noqa: PLR2004 — HTTP's own numbers
        return ApiUnavailable(status, reason, message, 1.0 if status == 429 and wait is None else wait)  # noqa: PLR2004
    return kinds.get(status, ApiError)(status, reason, message)
