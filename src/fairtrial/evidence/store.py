"""The object store that holds the evidence: create-only writes, checked reads, and what it can be asked about itself.

With the `s3_*` modules beside it this holds the only S3 calls of the repository; tests use `MemoryStore`.
"""

import contextlib
import hashlib
import os
from collections.abc import Mapping

from fairtrial.errors import NotStored, StoreError, StoreUnavailable
from fairtrial.evidence import s3_faults, s3_xml
from fairtrial.evidence.layout import check_key
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.objects import GET_LIMIT, OCTETS, Download, ObjectStore, StoredObject, Upload, b64
from fairtrial.evidence.s3_calls import CHECKSUM, DIGEST, ONCE, Patience, S3Calls
from fairtrial.evidence.s3_client import S3Settings
from fairtrial.evidence.s3_upload import S3Upload
from fairtrial.evidence.s3_xml import Refused

__all__ = ["Download", "MemoryStore", "ObjectStore", "Patience", "S3Settings", "S3Store", "StoredObject", "Upload"]


class S3Store(S3Calls):
    """Evidence in one S3 bucket. Safe to use from many threads."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "S3Store":
        """The store that the environment names."""
        return cls(S3Settings.from_env(env))

    def open_upload(
        self, key: str, *, media_type: str = OCTETS, sha256: str | None = None, multipart: bool = False
    ) -> "S3Upload":
        """Begin an object of any size. With `sha256` given, `commit` refuses anything else.

        `multipart` asks for a multipart upload whatever the size.
        """
        return S3Upload(self, check_key(key), media_type, sha256, multipart=multipart)

    def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:
        """An object's bytes, checked; `NotStored` if there is none, `StoreError` if it is larger than `limit`."""

        def read() -> bytes:
            download = self._open(key)
            if download.size > limit:
                download.close()
                raise StoreError(f"{key} has {download.size} bytes; at most {limit} are read at once here.")
            return b"".join(download)

        return self.retrying(f"get {key}", read)

    def head(self, key: str) -> StoredObject | None:
        """What lies under a key, or None. Objects streamed without a known digest are read to learn it."""

        def ask() -> tuple[str | None, int]:
            headers = self.s3.ask("HEAD", key).headers
            return headers.get(DIGEST), s3_xml.size(headers)

        try:
            sha256, size = self.retrying(f"head {key}", ask)
        except NotStored:
            return None
        return StoredObject(key, size, sha256) if sha256 else self.look(key)

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`, sorted. What is put meanwhile may be among them or not."""
        found = set[str]()
        query = {"list-type": "2", "prefix": prefix, "encoding-type": "url"}
        while True:
            page, token = self.retrying(f"list {prefix}", lambda: s3_xml.keys(self.s3.ask("GET", query=query).data))
            found.update(page)
            if token is None:
                return sorted(found)
            query["continuation-token"] = token

    def refuses_wrong_checksum(self, key: str) -> bool:
        """Whether a body that differs from its announced SHA-256 is refused, as it must be."""
        wrong = {CHECKSUM: b64(hashlib.sha256(b"announced").digest())}
        try:
            self.s3.ask("PUT", check_key(key), headers=ONCE | wrong, body=b"sent")
        except Refused as error:
            return error.status == s3_faults.BAD_REQUEST
        except s3_faults.ERRORS as error:
            raise StoreUnavailable(f"put {key}: the store did not answer ({s3_faults.reason(error)}).") from error
        return False

    def refuses_deletion(self, key: str) -> bool:
        """Whether the stored version of an object under retention outlives an attempt to delete it."""
        there = self.retrying(f"head {key}", lambda: self.s3.ask("HEAD", key))
        version = there.headers.get("x-amz-version-id")
        query = {"versionId": version} if version else {}
        with contextlib.suppress(*s3_faults.ERRORS):  # refused, or unknown: what counts is what is there now
            self.s3.ask("DELETE", key, query)
        try:  # by its key alone: a role that writes may not read versions, and the deletion of one leaves no marker
            self.retrying(f"head {key}", lambda: self.s3.ask("HEAD", key))
        except NotStored:
            return False
        return True

    def object_lock(self) -> tuple[str, int] | None:
        """The bucket's default retention, as mode and days: "" and 0 without a default, None without Object Lock."""
        try:
            return self.retrying(
                "read the bucket's Object Lock",
                lambda: s3_xml.default_retention(self.s3.ask("GET", query={"object-lock": ""}).data),
            )
        except StoreUnavailable:
            raise
        except StoreError:
            return None
