"""AWS Signature Version 4 for S3, in the Authorization header. Pure.

Source: "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)", Amazon S3 API Reference.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Request:
    """What is signed: every header that is given, and the body by its SHA-256."""

    method: str
    path: str  # percent-encoded as it is sent
    query: str  # likewise, its parameters in order
    headers: Mapping[str, str]  # with lower-case names; `host` and `x-amz-date` (YYYYMMDDTHHMMSSZ) among them
    body_sha256: str

    @property
    def signed_headers(self) -> str:
        """Their names in order."""
        return ";".join(sorted(self.headers))

    def canonical(self) -> str:
        """The request as both sides write it down before they hash it."""
        headers = "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in sorted(self.headers))
        return "\n".join((self.method, self.path, self.query, headers, self.signed_headers, self.body_sha256))


def authorization(request: Request, access_key: str, secret_key: str, region: str) -> str:
    """The value of the Authorization header."""
    at = request.headers["x-amz-date"]
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    hashed = hashlib.sha256(request.canonical().encode()).hexdigest()
    told = f"{ALGORITHM}\n{at}\n{scope}\n{hashed}"
    signature = _hmac(_signing_key(secret_key, at[:8], region), told).hex()
    return f"{ALGORITHM} Credential={access_key}/{scope},SignedHeaders={request.signed_headers},Signature={signature}"


@lru_cache(maxsize=8)  # of a day, so a thread never waits for another one's hashing
def _signing_key(secret_key: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, message: str) -> bytes:
    return hmac.digest(key, message.encode(), "sha256")
