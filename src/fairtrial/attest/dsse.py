"""DSSE envelopes in Sigstore bundles v0.3: read strictly, and checked against a trust list.

The bundle names the key by a hint, the base64 of its id; the envelope's signature has no keyid, since cosign refuses
one there. Codes: BUNDLE_INVALID, SIG_UNTRUSTED_KEY, SIG_WRONG_ROLE, SIG_INVALID, and those of statements.
"""

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

from fairtrial.attest import canonical, statement
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.errors import Unproven

MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
SIZE_MAX = 64 * 1024 * 1024


@dataclass(frozen=True)
class Bundle:
    """A signed envelope that was not checked yet."""

    key_id: str  # as the hint says
    payload: bytes
    payload_type: str
    signature: bytes
    timestamps: tuple[bytes, ...] = ()  # RFC 3161 replies over `signature`

    def to_bytes(self) -> bytes:
        """The bundle's canonical JSON."""
        material: dict[str, Any] = {"publicKey": {"hint": _encode(self.key_id.encode())}, "tlogEntries": []}
        if self.timestamps:
            replies = [{"signedTimestamp": _encode(one)} for one in self.timestamps]
            material["timestampVerificationData"] = {"rfc3161Timestamps": replies}
        envelope = {
            "payload": _encode(self.payload),
            "payloadType": self.payload_type,
            "signatures": [{"sig": _encode(self.signature)}],
        }
        return canonical.to_bytes({"mediaType": MEDIA_TYPE, "verificationMaterial": material, "dsseEnvelope": envelope})


@dataclass(frozen=True)
class Verified:
    """A statement, and the trusted key that signed it."""

    statement: Statement
    key: TrustedKey
    bundle: Bundle


def pae(payload_type: str, payload: bytes) -> bytes:
    """What is signed: type and content with their lengths, so that neither can pass for a part of the other."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def parse(data: bytes, *, name: str = "bundle") -> Bundle:
    """Read a bundle with one signature by a key; nothing in it may be believed before `verify`."""
    raw = canonical.load(data, name=name, size_max=SIZE_MAX)
    top = _object(raw, {"mediaType", "verificationMaterial", "dsseEnvelope"}, name)
    if top["mediaType"] != MEDIA_TYPE:
        _refuse(name, f"is not a {MEDIA_TYPE}")
    material = _object(
        top["verificationMaterial"], {"publicKey"}, name, may=("tlogEntries", "timestampVerificationData")
    )
    if material.get("tlogEntries"):
        _refuse(name, "has entries of a transparency log, which are not understood here")
    hint = _bytes(_object(material["publicKey"], {"hint"}, name)["hint"], name)
    envelope = _object(top["dsseEnvelope"], {"payload", "payloadType", "signatures"}, name)
    signatures = envelope["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        _refuse(name, "has not exactly one signature")
    if not isinstance(envelope["payloadType"], str):
        _refuse(name, "has no payload type")
    return Bundle(
        hint.decode("ascii", "replace"),
        _bytes(envelope["payload"], name),
        envelope["payloadType"],
        _bytes(_object(signatures[0], {"sig"}, name)["sig"], name),
        _timestamps(material, name),
    )


def verify(data: bytes, trust: TrustList, roles: Collection[str], *, name: str = "bundle") -> Verified:
    """The statement in a bundle, signed by a trusted key of one of `roles`; Unproven with the reason otherwise."""
    bundle = parse(data, name=name)
    key = trust.signer(bundle.key_id, roles, name=name)
    if not key.key.verifies(bundle.signature, pae(bundle.payload_type, bundle.payload)):
        raise Unproven("SIG_INVALID", f"{name}: the signature of key {bundle.key_id} does not fit its content.")
    if bundle.payload_type != statement.PAYLOAD_TYPE:
        _refuse(name, f"holds {bundle.payload_type[:80]!r}, not {statement.PAYLOAD_TYPE}")
    return Verified(statement.parse(bundle.payload, name=name), key, bundle)


def _timestamps(material: dict[str, Any], name: str) -> tuple[bytes, ...]:
    if "timestampVerificationData" not in material:
        return ()
    replies = _object(material["timestampVerificationData"], {"rfc3161Timestamps"}, name)["rfc3161Timestamps"]
    if not isinstance(replies, list) or not replies:
        _refuse(name, "has an empty list of time-stamps")
    return tuple(_bytes(_object(one, {"signedTimestamp"}, name)["signedTimestamp"], name) for one in replies)


def _object(raw: Any, must: set[str], name: str, *, may: Collection[str] = ()) -> dict[str, Any]:
    if not isinstance(raw, dict) or not must <= set(raw) or set(raw) - must - set(may):
        _refuse(name, f"has not the fields {', '.join(sorted(must))}")
    return raw


def _bytes(text: Any, name: str) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise Unproven("BUNDLE_INVALID", f"{name} has bad base64.") from error
    if _encode(value) != text:
        _refuse(name, "has base64 that is not canonical")
    return value


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _refuse(name: str, why: str) -> NoReturn:
    raise Unproven("BUNDLE_INVALID", f"{name} {why}.")
