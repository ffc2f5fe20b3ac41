"""Talk to the gateway from inside a pod: fetch by digest, store artifacts, be patient with what passes.

The token is read again for every request, since the kubelet renews it. 425 (the run's status does not name this pod
yet), 429, 5xx and a connection that fails are tried again, with growing pauses, until the deadline; other refusals
are final and carry the gateway's own words.

    client = GatewayClient.from_env(deadline_seconds=300)
    for chunk in client.get(f"/v1/bundles/{digest}", sha256=digest): ...      # DigestMismatch at the end if wrong
    client.download(f"/v1/bundles/{digest}", path, sha256=digest)             # to a file; a cut transfer starts again
    artifact = client.put_artifact("agent/report.json", data, media_type="application/json")   # bytes or a Path
"""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import random
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from fairtrial import documents, names
from fairtrial.archive import verified
from fairtrial.documents import Artifact, StepNotice
from fairtrial.errors import GatewayRefused, GatewayUnavailable

T = TypeVar("T")
_CHUNK = 256 * 1024
_PATIENCE = frozenset({401, 408, 425, 429})  # 401 once more only: the token may just have been renewed
_UNAUTHORIZED = 401
_SOON = (0.1, 0.2, 0.4)  # seconds that the first attempts wait for a connection
STEP_SECONDS = 60.0  # that a step waits at most for the gateway to know of it


class _Later(GatewayUnavailable):
    """An answer, or none, that trying again may change."""

    def __init__(self, status: int, message: str, after: float) -> None:
        self.status, self.after = status, after
        super().__init__(message)


@dataclass
class GatewayClient:
    """One gateway, seen with one pod's identity. `deadline_seconds` bounds each call with all its retries."""

    url: str
    token_file: Path = Path(names.TOKEN_FILE)
    deadline_seconds: float = 300
    timeout_seconds: float = 30  # of one request, without any byte passing
    pause_max_seconds: float = 5

    @classmethod
    def from_env(cls, *, deadline_seconds: float = 300) -> "GatewayClient":
        """The gateway that the operator injected."""
        return cls(os.environ[names.ENV_GATEWAY], deadline_seconds=deadline_seconds)

    def get(self, path: str, *, sha256: str) -> Iterator[bytes]:
        """Stream an object; its end raises DigestMismatch unless every byte was right. A cut one is not resumed."""
        response = self._patiently(lambda: self._open("GET", path))
        return verified(self._chunks(response, path), sha256, path)

    def download(self, path: str, target: Path, *, sha256: str) -> int:
        """Fetch an object into a file, from the start again where a transfer was cut; its size."""

        def once() -> int:
            response = self._open("GET", path)
            with target.open("wb") as file:
                for chunk in verified(self._chunks(response, path), sha256, path):
                    file.write(chunk)
                return file.tell()

        return self._patiently(once)

    def put_artifact(
        self, name: str, content: bytes | Path, *, media_type: str = "application/octet-stream"
    ) -> Artifact:
        """Store one artifact of this run. Storing equal content twice is fine; unequal is refused with 409."""
        size, digest = _measure(content)
        headers = {
            "Content-Type": media_type,
            "Content-Length": str(size),
            "Content-Digest": f"sha-256=:{base64.b64encode(digest).decode()}:",
        }

        def once() -> None:
            body = content.open("rb") if isinstance(content, Path) else None
            try:
                data = body if body is not None else content
                assert not isinstance(data, Path)
                self._open("PUT", f"/v1/artifacts/{name}", headers, data).read()
            finally:
                if body is not None:
                    body.close()

        self._patiently(once)
        return Artifact(name, size, digest.hex())

    def begin_step(self, number: int, notice: StepNotice) -> Artifact:
        """Tell that a step of this run begins; the gateway's note of it. Told again it is as it was."""
        data = documents.dump(notice)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}

        def once() -> Artifact:
            answer = self._open("PUT", f"/v1/steps/{number}", headers, data).read()
            found: Artifact = documents.load(Artifact, answer, name="the gateway's answer")
            return found

        return self._patiently(once, min(STEP_SECONDS, self.deadline_seconds))

    def _patiently(self, once: Callable[[], T], seconds: float | None = None) -> T:
        seconds = self.deadline_seconds if seconds is None else seconds
        deadline = time.monotonic() + seconds
        pause, unauthorized = 0.2, 0
        while True:
            try:
                return once()
            except _Later as later:
                unauthorized += later.status == _UNAUTHORIZED
                if unauthorized > 1:
                    raise GatewayRefused(later.status, later.message) from later
                wait = later.after or random.uniform(pause / 2, pause)  # noqa: S311 — jitter, not a secret
                if time.monotonic() + wait > deadline:
                    raise GatewayUnavailable(
                        f"No success with {self.url} within {seconds:.0f} s; last: {later.message}.",
                        next_move="Look at the gateway's log and at its store.",
                    ) from later
                time.sleep(wait)
                pause = min(pause * 2, self.pause_max_seconds)

    def _open(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | BinaryIO | None = None
    ) -> http.client.HTTPResponse:
        parts = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=self.timeout_seconds)
        try:
            token = self.token_file.read_text("ascii").strip()
            connection.sock = self._connected(connection)
            response = _exchange(
                connection,
                method,
                parts.path.rstrip("/") + path,
                {"Authorization": f"Bearer {token}", "Connection": "close", **(headers or {})},
                body,
            )
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Later(0, f"{method} {path}: {error or type(error).__name__}", 0) from error
        if response.status in (200, 201):
            return response
        raise _refusal(response, f"{method} {path}")

    def _connected(self, connection: http.client.HTTPConnection) -> socket.socket:
        """A connection to the gateway. A network may drop what a pod sends until it has learnt of the pod: the kernel
        sends it again after a second, which is most of the time that a pod takes to start.
        """
        where = (connection.host, connection.port)
        for seconds in (*_SOON, self.timeout_seconds):
            with contextlib.suppress(TimeoutError):
                made = socket.create_connection(where, timeout=seconds)
                made.settimeout(self.timeout_seconds)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made
        raise TimeoutError(f"no connection to {where[0]}:{where[1]}")

    @staticmethod
    def _chunks(response: http.client.HTTPResponse, path: str) -> Iterator[bytes]:
        try:
            with response:
                while chunk := response.read(_CHUNK):
                    yield chunk
                if response.length:
                    raise _Later(0, f"GET {path}: cut {response.length} bytes before its end", 0)
        except (OSError, http.client.HTTPException) as error:
            raise _Later(0, f"GET {path}: {error or type(error).__name__}", 0) from error


def _exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes | BinaryIO | None,
) -> http.client.HTTPResponse:
    """Send and read the answer's head. A server may refuse before it has read the body: its answer still counts."""
    try:
        connection.request(method, path, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError):
        if connection.sock is None:
            raise
    return connection.getresponse()


def _refusal(response: http.client.HTTPResponse, what: str) -> Exception:
    try:
        with response:
            text = response.read(2000).decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        text = ""
    message = _words(text) or response.reason
    if response.status in _PATIENCE or response.status >= 500:  # noqa: PLR2004 — the class of server errors
        after = response.headers.get("Retry-After", "")
        wait = float(after) if after.isdecimal() else 0.0
        return _Later(response.status, f"{what}: {response.status} {message}", min(wait, 10) * random.uniform(0.8, 1.2))  # noqa: S311
    return GatewayRefused(response.status, f"{message} ({what})")


def _words(text: str) -> str:
    """The sentence in an answer, whether it came as JSON or as plain text."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return text
    return str(parsed.get("message") or parsed.get("error") or text) if isinstance(parsed, dict) else text


def _measure(content: bytes | Path) -> tuple[int, bytes]:
    if isinstance(content, bytes):
        return len(content), hashlib.sha256(content).digest()
    with content.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        return file.tell(), digest
