"""Writing: a pod's artifacts, streamed into the store, created once, hashed on the way."""

import asyncio
import base64
import binascii
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import web

from fairtrial.errors import DigestMismatch
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import OCTETS, StoredObject
from fairtrial_gateway.access import Access, Admitted, Refused
from fairtrial_gateway.evaluations import Evaluations
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.parts import PartSender, StoreThreads
from fairtrial_gateway.policy import may_write_artifact
from fairtrial_gateway.scans import Kept, Scans, is_report
from fairtrial_gateway.settings import Settings

_SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):")
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,80}")
_DIGEST_BYTES = 32


class UploadSlots:
    """How many uploads may be under way, in all and for one pod: no pod can take every slot."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._most, self._most_per_pod = settings.max_uploads, settings.max_uploads_per_pod
        self._gauge = metrics.uploads
        self._by_pod: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """Uploads under way."""
        return self._by_pod.total()

    @contextmanager
    def take(self, pod_uid: str) -> Iterator[None]:
        """Hold a slot, or refuse with a time to come back."""
        if self.taken >= self._most or self._by_pod[pod_uid] >= self._most_per_pod:
            raise Refused(503, "TooManyUploads", "Too many uploads are under way; come back soon.", retry_after=1)
        self._by_pod[pod_uid] += 1
        self._gauge.inc()
        try:
            yield
        finally:
            self._by_pod[pod_uid] -= 1
            self._by_pod += Counter()  # drops zeros
            self._gauge.dec()


class Artifacts:
    """The handler of everything that pods may write."""

    def __init__(
        self,
        access: Access,
        threads: StoreThreads,
        layout: Layout,
        settings: Settings,
        metrics: Metrics,
        evaluations: Evaluations,
        scans: Scans | None = None,
    ) -> None:
        self._access, self._threads, self._layout = access, threads, layout
        self._settings, self._metrics, self._evaluations = settings, metrics, evaluations
        self._scans = scans
        self.slots = UploadSlots(settings, metrics)

    def routes(self) -> list[web.RouteDef]:
        """What this module serves."""
        return [web.put("/v1/artifacts/{name:.+}", self.create)]

    async def create(self, request: web.Request) -> web.Response:
        """Create an artifact: 201, 200 if an equal one is there, 409 if another is."""
        name = request.match_info["name"]
        admitted = await self._access.admit(request, may_write_artifact, name)
        expected = announced_sha256(request.headers.get("Content-Digest"))
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise Refused(415, "Encoded", "Bodies are stored as they are: send this one without Content-Encoding.")
        self._check_size(request.content_length or 0)
        with self.slots.take(admitted.caller.pod_uid):
            stored = await self._receive(request, admitted, name, expected)
            await self._evaluations.stored(admitted, name)
        body = {"name": name, "size": stored.size, "sha256": stored.sha256}
        return web.json_response(body, status=201 if stored.created else 200)

    async def _receive(self, request: web.Request, admitted: Admitted, name: str, expected: str | None) -> StoredObject:
        run, store = admitted.run, self._threads.store
        key = self._layout.run(run.namespace, run.name, run.uid, run.cohort).artifact(name)
        media_type = request.content_type if _MEDIA_TYPE.fullmatch(request.content_type) else OCTETS
        upload = store.open_upload(key, media_type=media_type, sha256=expected)
        sender = PartSender(self._threads, upload, request.content_length)
        report = Kept() if self._scans and is_report(admitted, name) else None
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.upload_seconds):
                await self._pump(request, sender, report)
                await self._access.still(admitted, may_write_artifact, name)
                if self._scans and report:
                    await self._scans.before(admitted, name, report)
                stored = await sender.commit()
        except TimeoutError as error:
            raise Refused(408, "TooSlow", "The body, or the store, took too long; send it again.") from error
        except DigestMismatch as error:
            if error.expected != expected:
                raise  # what was stored earlier is damaged
            message = f"The body has SHA-256 {error.actual}, Content-Digest says {error.expected}; nothing was stored."
            raise Refused(400, "DigestMismatch", message) from error
        finally:
            await asyncio.shield(asyncio.create_task(sender.close()))
        self._metrics.upload_seconds.observe(time.monotonic() - started)
        return stored

    async def _pump(self, request: web.Request, sender: PartSender, report: Kept | None) -> None:
        """Take the whole body, no slower than allowed; a body that ends early is no body."""
        received, loop = 0, asyncio.get_running_loop()
        try:
            while True:
                async with asyncio.timeout_at(loop.time() + self._settings.idle_seconds):
                    chunk = await request.content.readany()
                if not chunk:
                    break
                received += len(chunk)
                self._check_size(received)
                if request.content_length is not None and received > request.content_length:
                    raise Refused(400, "BodyTooLong", "More bytes came than Content-Length says; nothing was stored.")
                await sender.feed(chunk)
                if report:
                    report.take(chunk)
        except (aiohttp.ClientError, ConnectionError, aiohttp.http.HttpProcessingError) as error:
            raise Refused(400, "BodyCut", "The connection ended before the body did; nothing was stored.") from error
        if request.content_length is not None and received != request.content_length:
            raise Refused(400, "BodyCut", f"{received} of {request.content_length} bytes came; nothing was stored.")
        self._metrics.bytes.labels("in").inc(received)

    def _check_size(self, size: int) -> None:
        most = self._settings.max_artifact_bytes
        if size > most:
            raise Refused(413, "TooLarge", f"An artifact may have {most} bytes; this one has {size} or more.")


def announced_sha256(header: str | None) -> str | None:
    """The SHA-256 of a Content-Digest header (RFC 9530) in hexadecimal, or None if it names none."""
    if header is None:
        return None
    found = _SHA256.search(header)
    if found is None:
        return None
    try:
        digest = base64.b64decode(found[1], validate=True)
    except binascii.Error:
        digest = b""
    if len(digest) != _DIGEST_BYTES:
        raise Refused(400, "InvalidDigest", "Content-Digest: sha-256 must be the base64 form of 32 bytes.")
    return digest.hex()
