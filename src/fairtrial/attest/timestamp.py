"""Checks RFC 3161 time-stamps: the reply is over exactly these bytes, and leads to an authority of the trust list.

The certificates must have been valid at the time that the token tells, not now: an old stamp does not spoil. Codes:
TS_INVALID (no reply, or one about other bytes), TS_UNTRUSTED (no listed authority made it).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fairtrial.attest.trust import TimestampAuthority, is_root
from fairtrial.errors import Unproven

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse, Verifier

SIZE_MAX = 64 * 1024
_HASHES: dict[str, Any] = {
    "2.16.840.1.101.3.4.2.1": hashlib.sha256,
    "2.16.840.1.101.3.4.2.2": hashlib.sha384,
    "2.16.840.1.101.3.4.2.3": hashlib.sha512,
}


@dataclass(frozen=True)
class Stamp:
    """When an authority saw the bytes, at the latest."""

    at: datetime  # UTC
    authority: str  # its name in the trust list


def verify(reply: bytes, data: bytes, authorities: Iterable[TimestampAuthority], *, name: str) -> Stamp:
    """What a reply proves about `data`; Unproven with TS_INVALID or TS_UNTRUSTED otherwise."""
    from rfc3161_client import VerificationError

    response = parse(reply, name=name)
    imprint = response.tst_info.message_imprint
    algorithm = _HASHES.get(imprint.hash_algorithm.dotted_string)
    if algorithm is None or imprint.message != algorithm(data).digest():
        raise Unproven("TS_INVALID", f"{name}: is a time-stamp of other bytes.")
    why = "the trust list has no time-stamp authority"
    for one in authorities:
        try:
            _verifier(one).verify(response, imprint.message)
        except VerificationError as error:
            why = f"{one.name}: {error}"
            continue
        return Stamp(response.tst_info.gen_time, one.name)
    raise Unproven("TS_UNTRUSTED", f"{name}: is a time-stamp by no trusted authority ({why}).")


def parse(reply: bytes, *, name: str) -> "TimeStampResponse":
    """The reply's fields, none of them checked."""
    from rfc3161_client import decode_timestamp_response

    if len(reply) > SIZE_MAX:
        raise Unproven("TS_INVALID", f"{name}: has {len(reply)} bytes; {SIZE_MAX} are allowed.")
    try:
        response = decode_timestamp_response(reply)
        granted = response.status == 0
        response.tst_info  # noqa: B018 - a property that parses, and fails on a reply without a token
    except ValueError as error:
        raise Unproven("TS_INVALID", f"{name}: is no RFC 3161 reply with a token: {error}.") from error
    if not granted:
        raise Unproven("TS_INVALID", f"{name}: the authority did not grant the request (status {response.status}).")
    return response


def _verifier(authority: TimestampAuthority) -> "Verifier":
    from rfc3161_client import VerifierBuilder

    roots = [one for one in authority.certificates if is_root(one)]
    return VerifierBuilder(
        roots=roots, intermediates=[one for one in authority.certificates if one not in roots]
    ).build()
