"""Single S3 calls made reliable: what is retried, what is looked at first, what is final.

A write is decided by what lies in the store, never by an answer that may have been lost: after a refusal or an unknown
outcome the object is read back and hashed; equal bytes are adopted, others are a `Conflict`. ETags and checksums that a
server reports are never taken for content.
"""

import hashlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from fairtrial.errors import Conflict, NotStored, StoreUnavailable
from fairtrial.evidence import s3_faults
from fairtrial.evidence.layout import check_key
from fairtrial.evidence.objects import OCTETS, StoredObject, b64
from fairtrial.evidence.s3_client import S3Client, S3Settings
from fairtrial.evidence.s3_download import S3Download
from fairtrial.evidence.s3_faults import Fault
from fairtrial.evidence.s3_xml import Refused

T = TypeVar("T")
ONCE = {"if-none-match": "*"}
DIGEST = "x-amz-meta-sha256"  # of the whole object, however it was sent
CHECKSUM = "x-amz-checksum-sha256"  # which the store checks, and vouches for


@dataclass(frozen=True)
class Patience:
    """How often a call is tried, and the pauses between: exponential with full jitter, so that callers spread out."""

    attempts: int = 6
    first_pause: float = 0.1
    longest_pause: float = 5.0

    def pause(self, attempt: int) -> float:
        """Seconds to wait after failed attempt number `attempt` (from 1)."""
        return random.uniform(0, min(self.longest_pause, self.first_pause * 2**attempt))  # noqa: S311 — no secret


class S3Calls:
    """The calls on one bucket. Safe to use from many threads."""

    def __init__(
        self,
        settings: S3Settings,
        *,
        patience: Patience | None = None,
        on_retry: Callable[[str], None] = lambda reason: None,  # noqa: ARG005
    ) -> None:
        self.settings = settings
        self.s3 = S3Client(settings)
        self._patience = patience or Patience()
        self._on_retry = on_retry

    def put(self, key: str, data: bytes | bytearray, *, media_type: str = OCTETS) -> StoredObject:
        """Create an object, or adopt an equal one; `Conflict` if another lies there."""
        digest = hashlib.sha256(data)
        ours = StoredObject(check_key(key), len(data), digest.hexdigest())
        headers = self.new_object(media_type, ours.sha256) | ONCE | {CHECKSUM: b64(digest.digest())}
        return self.create(ours, lambda: self.s3.ask("PUT", key, headers=headers, body=data, sha256=ours.sha256))

    def open(self, key: str) -> "S3Download":
        """An object's bytes in chunks, checked; `NotStored` if there is none."""
        return self.retrying(f"get {key}", lambda: self._open(key))

    def abort_upload(self, key: str, upload_id: str) -> None:
        """Drop the parts of a multipart upload. One that is gone, completed or aborted, is no error."""

        def call() -> None:
            try:
                self.s3.ask("DELETE", key, {"uploadId": upload_id})
            except Refused as error:
                if s3_faults.of(error) is not Fault.UPLOAD_GONE:
                    raise

        self.retrying(f"abort upload of {key}", call)

    def close(self) -> None:
        """Close idle connections."""
        self.s3.close()

    def new_object(self, media_type: str, sha256: str | None) -> dict[str, str]:
        """The headers of a new object: its type, digest, and retention where the bucket has it."""
        headers = {"content-type": media_type}
        if sha256:
            headers[DIGEST] = sha256
        if self.settings.object_lock_days:
            until = datetime.now(UTC) + timedelta(days=self.settings.object_lock_days)
            headers["x-amz-object-lock-mode"] = "COMPLIANCE"
            headers["x-amz-object-lock-retain-until-date"] = until.strftime("%Y-%m-%dT%H:%M:%SZ")
        return headers

    def create(self, ours: StoredObject, call: Callable[[], Any]) -> StoredObject:
        """Make a conditional `call` until the object is there: made by us, found equal, or refused as another."""
        last: Exception = StoreUnavailable("it was not asked")
        for _ in self._attempts():
            try:
                call()
                return replace(ours, created=True)
            except s3_faults.ERRORS as error:
                last = error
                fault = s3_faults.of(error)
                if fault in (Fault.FINAL, Fault.MISSING):
                    raise s3_faults.translated(error, f"create {ours.key}") from error
                self._on_retry(s3_faults.reason(error))
            # A conflict with a write that is still under way says nothing yet; everything else may mean "it is there".
            there = None if fault is Fault.BUSY else self.look(ours.key)
            if there is not None:
                return _adopted(ours, there)
            if fault is Fault.UPLOAD_GONE:
                break
        raise s3_faults.unavailable(last, f"create {ours.key}")

    def retrying(self, what: str, call: Callable[[], T]) -> T:
        """Make a call that may be repeated, until it answers."""
        last: Exception = StoreUnavailable("it was not asked")
        for _ in self._attempts():
            try:
                return call()
            except StoreUnavailable as error:
                last = error
                self._on_retry("CutBody")
            except s3_faults.ERRORS as error:
                last, fault = error, s3_faults.of(error)
                if fault is Fault.MISSING:
                    raise NotStored(f"{what}: there is no such object.") from error
                if fault not in (Fault.UNKNOWN, Fault.BUSY):
                    raise s3_faults.translated(error, what) from error
                self._on_retry(s3_faults.reason(error))
        raise s3_faults.unavailable(last, what) from last

    def _attempts(self) -> Iterator[int]:
        for attempt in range(1, self._patience.attempts + 1):
            yield attempt
            if attempt < self._patience.attempts:
                time.sleep(self._patience.pause(attempt))

    def _open(self, key: str) -> "S3Download":
        answer = self.s3.send("GET", key, headers={"x-amz-checksum-mode": "ENABLED"})
        return S3Download(key, answer, answer.headers.get(DIGEST), answer.headers.get(CHECKSUM))

    def look(self, key: str) -> StoredObject | None:
        """What lies there by its bytes: only they can be taken for equal."""

        def read() -> StoredObject:
            download = self._open(key)
            for _ in download:
                pass
            return StoredObject(key, download.size, download.sha256)

        try:
            return self.retrying(f"look at {key}", read)
        except NotStored:
            return None


def _adopted(ours: StoredObject, there: StoredObject) -> StoredObject:
    if (there.sha256, there.size) == (ours.sha256, ours.size):
        return there
    raise Conflict(ours.key, ours.sha256, there.sha256)
