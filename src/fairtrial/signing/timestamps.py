"""Asks a time-stamp authority (RFC 3161 over HTTP) when it saw some bytes. Only their digest leaves the machine."""

import http.client
import urllib.error
import urllib.request

from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

from fairtrial.attest import timestamp
from fairtrial.errors import SigningFailed, Unproven

URL_VARIABLE = "FAIRTRIAL_TIMESTAMP_URL"
TIMEOUT_SECONDS = 20.0


def ask(url: str, data: bytes, *, timeout: float = TIMEOUT_SECONDS) -> bytes:
    """The authority's reply to this very request about `data`. Whether it is to be trusted, the auditor decides."""
    if not url.startswith(("http://", "https://")):
        raise SigningFailed(f"Time-stamp authority {url!r}: is no http or https URL.")
    request = TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256).build()
    asked = urllib.request.Request(  # noqa: S310 - http and https alone, as checked above
        url, request.as_bytes(), {"Content-Type": "application/timestamp-query"}, method="POST"
    )
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:  # noqa: S310
            reply: bytes = answer.read(timestamp.SIZE_MAX + 1)
    except (OSError, urllib.error.URLError, http.client.HTTPException) as error:
        raise SigningFailed(f"Time-stamp authority {url}: {error}", next_move="It is asked again later.") from error
    try:
        response = timestamp.parse(reply, name=url)
    except Unproven as error:
        raise SigningFailed(f"Time-stamp authority {error}") from error
    told = response.tst_info
    if told.nonce != request.nonce or told.message_imprint.message != request.message_imprint.message:
        raise SigningFailed(f"Time-stamp authority {url}: answered another request.")
    return reply
