"""Reading an object back: its bytes are hashed on the way, and its last bytes wait until the whole was found good."""

from collections.abc import Iterator

from urllib3.response import BaseHTTPResponse

from fairtrial.errors import DigestMismatch, StoreUnavailable
from fairtrial.evidence import s3_faults, s3_xml
from fairtrial.evidence.objects import MIB, PartDigest

READ_SIZE = MIB // 4


class S3Download:
    """An object's chunks, hashed on the way. The last comes only after the whole was found to be what was stored."""

    def __init__(self, key: str, answer: BaseHTTPResponse, expected: str | None, checksum: str | None) -> None:
        self.size = s3_xml.size(answer.headers)
        self._key, self._body = key, answer
        self._expected, self._checksum = expected, checksum
        self._digest = PartDigest()
        self._held = b""
        self._chunks = self._read()

    def __iter__(self) -> "S3Download":
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    @property
    def sha256(self) -> str:
        """The digest of the bytes read so far."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Let go of the connection; needed only where the end is not reached."""
        self._body.close()

    def _read(self) -> Iterator[bytes]:
        try:
            held = self._body.read(READ_SIZE, decode_content=False)
            while chunk := self._body.read(READ_SIZE, decode_content=False):
                self._digest.update(held)
                yield held
                held = chunk
        except s3_faults.ERRORS as error:
            raise StoreUnavailable(f"get {self._key}: the body was cut ({s3_faults.reason(error)}).") from error
        finally:
            self._body.close()
        self._digest.update(held)
        self._check()
        if held:
            yield held

    def _check(self) -> None:
        if self._digest.size != self.size:
            raise StoreUnavailable(f"get {self._key}: {self._digest.size} bytes came, {self.size} were announced.")
        if self._expected and self._expected != self.sha256:
            raise DigestMismatch(self._key, self._expected, self.sha256)
        if self._checksum and not self._digest.matches(self._checksum):
            raise DigestMismatch(self._key, f"{self._checksum} (checksum of its parts)", self.sha256)
