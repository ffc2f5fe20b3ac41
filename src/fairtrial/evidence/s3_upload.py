"""Writing an object of any size: one request up to a part's size, a conditional multipart upload above."""

import contextlib
import hashlib
from collections.abc import Callable

from fairtrial.errors import DigestMismatch, StoreError
from fairtrial.evidence import s3_xml
from fairtrial.evidence.objects import PART_SIZE, StoredObject, b64
from fairtrial.evidence.s3_calls import CHECKSUM, ONCE, S3Calls


class S3Upload:
    """One object on its way: a single request up to a part's size, a multipart upload above."""

    def __init__(
        self, calls: S3Calls, key: str, media_type: str, expected: str | None, *, multipart: bool = False
    ) -> None:
        self._calls, self._key, self._media_type, self._expected = calls, key, media_type, expected
        self._always_multipart = multipart
        self._whole = hashlib.sha256()
        self._size = 0
        self._buffer = bytearray()
        self._upload_id: str | None = None
        self._parts: list[dict[str, str | int]] = []

    def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Take the next bytes, sending a part whenever one is full. A bytearray is the upload's from then on."""
        if not self._buffer and isinstance(chunk, bytearray) and len(chunk) < PART_SIZE:
            self._buffer = chunk
            return
        view = memoryview(chunk)
        while view:
            room = PART_SIZE - len(self._buffer)
            self._buffer += view[:room]
            view = view[room:]
            if len(self._buffer) == PART_SIZE:
                full, self._buffer = self._buffer, bytearray()
                self.part(full)()

    def part(self, data: bytes | bytearray) -> Callable[[], None]:
        """Take the next `PART_SIZE` bytes; the call that is returned sends them, and may run beside others."""
        self._whole.update(data)
        self._size += len(data)
        if self._upload_id is None:
            self._upload_id = self._start()
        number = len(self._parts) + 1
        self._parts.append({"PartNumber": number})
        return lambda: self._send(number, data)

    def commit(self) -> StoredObject:
        """Create the object, or adopt an equal one; `Conflict` if another lies there. Leaves no parts behind."""
        try:
            if self._upload_id is None and not self._always_multipart:
                self._check(hashlib.sha256(self._buffer).hexdigest())
                return self._calls.put(self._key, self._buffer, media_type=self._media_type)
            if self._buffer or not self._parts:
                self.part(self._buffer)()
            ours = StoredObject(self._key, self._size, self._whole.hexdigest())
            self._check(ours.sha256)
            done = self._calls.create(ours, self._complete)
        except BaseException:
            self.abort()
            raise
        if not done.created:
            self.abort()
        return done

    def _check(self, actual: str) -> None:
        if self._expected and self._expected != actual:
            raise DigestMismatch(self._key, self._expected, actual)

    def abort(self) -> None:
        """Drop the parts sent so far. What a store cannot do now is left to the sweep."""
        upload_id, self._upload_id = self._upload_id, None
        self._buffer = bytearray()
        if upload_id is not None:
            with contextlib.suppress(StoreError):
                self._calls.abort_upload(self._key, upload_id)

    def _send(self, number: int, data: bytes | bytearray) -> None:
        digest, query = hashlib.sha256(data), {"partNumber": str(number), "uploadId": str(self._upload_id)}
        checksum = b64(digest.digest())

        def call() -> str:
            sent = {"headers": {CHECKSUM: checksum}, "body": data, "sha256": digest.hexdigest()}
            return s3_xml.etag(self._calls.s3.ask("PUT", self._key, query, **sent).headers)

        etag = self._calls.retrying(f"upload part {number} of {self._key}", call)
        self._parts[number - 1] |= {"ETag": etag, "ChecksumSHA256": checksum}

    def _start(self) -> str:
        headers = self._calls.new_object(self._media_type, self._expected) | {"x-amz-checksum-algorithm": "SHA256"}

        def call() -> str:
            return s3_xml.upload_id(self._calls.s3.ask("POST", self._key, {"uploads": ""}, headers=headers).data)

        return self._calls.retrying(f"start upload of {self._key}", call)

    def _complete(self) -> None:
        query, body = {"uploadId": str(self._upload_id)}, s3_xml.parts(self._parts)
        s3_xml.completed(self._calls.s3.ask("POST", self._key, query, headers=ONCE, body=body).data)
