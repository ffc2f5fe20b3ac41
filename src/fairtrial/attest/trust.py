"""The trust list: which keys may say what, and whose time-stamps count. It lies outside the bucket that it judges.

Codes: TRUST_INVALID where the list itself is bad; SIG_UNTRUSTED_KEY and SIG_WRONG_ROLE about a signature.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn

from cryptography import x509

from fairtrial.attest import canonical
from fairtrial.attest.publickey import PublicKey
from fairtrial.errors import Unproven

ROLES = ("studyOwner", "operator", "evaluator", "analysis", "auditor")
SIZE_MAX = 1024 * 1024
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

# Who may sign what.
PREREGISTRATION = ("operator",)
STUDY_SIGNATURE = ("studyOwner",)
RECORD = ("operator",)
CHECKPOINT = ("operator",)
EVALUATION = ("evaluator",)
PACKAGE = ("analysis",)
RELEASE = ("studyOwner",)


@dataclass(frozen=True)
class TrustedKey:
    """A key and the role that it was given. `development`: anybody may have a copy; it shows form and no more."""

    role: str
    key: PublicKey
    development: bool = False
    valid_from: datetime | None = None  # what it signed before counts nothing
    revoked_from: datetime | None = None  # what it signed since counts nothing; before, if somebody else shows when


@dataclass(frozen=True)
class TimestampAuthority:
    """An authority whose time-stamps count, by the certificates that its own must lead to."""

    name: str
    certificates: tuple[x509.Certificate, ...]
    pem: str


@dataclass(frozen=True)
class Witness:
    """A log witness: it cosigns checkpoints under its own key name."""

    name: str
    key: PublicKey


@dataclass(frozen=True)
class TrustList:
    """All that an auditor believes before looking at anything."""

    keys: tuple[TrustedKey, ...] = ()
    timestamp_authorities: tuple[TimestampAuthority, ...] = ()
    witnesses: tuple[Witness, ...] = ()

    @property
    def unlimited(self) -> "TrustList":
        """The same without limits in time, which may be set long after evidence was packed."""
        keys = tuple(replace(one, valid_from=None, revoked_from=None) for one in self.keys)
        return replace(self, keys=keys)

    def of(self, roles: Collection[str]) -> list[TrustedKey]:
        """The keys of some roles."""
        return [one for one in self.keys if one.role in roles]

    def signer(self, key_id: str, roles: Collection[str], *, name: str) -> TrustedKey:
        """The key `key_id`, if it may sign what `name` is: it is listed, and has one of the roles."""
        known = [one for one in self.keys if one.key.key_id == key_id]
        if not known:
            raise Unproven("SIG_UNTRUSTED_KEY", f"{name}: is signed by key {key_id[:64]!r}, which is not trusted.")
        for one in known:
            if one.role in roles:
                return one
        has, needs = ", ".join(one.role for one in known), " or ".join(roles)
        raise Unproven("SIG_WRONG_ROLE", f"{name}: is signed by a key of the role {has}; it needs {needs}.")

    def to_bytes(self) -> bytes:
        """The list's canonical JSON."""
        return canonical.to_bytes(
            {
                "schemaVersion": 1,
                "kind": "TrustList",
                "keys": [
                    {"role": one.role, "development": one.development, **_key(one.key), **_limits(one)}
                    for one in sorted(self.keys, key=lambda one: (ROLES.index(one.role), one.key.key_id))
                ],
                "timestampAuthorities": [
                    {"name": one.name, "certificates": one.pem} for one in self.timestamp_authorities
                ],
                "witnesses": [{"name": one.name, **_key(one.key)} for one in self.witnesses],
            }
        )


def load(data: bytes, *, name: str = "trust list") -> TrustList:
    """Read a trust list strictly; any spelling of the JSON is taken, since people may write it by hand."""
    raw = canonical.parse(data, name=name, size_max=SIZE_MAX)
    top = _object(raw, {"schemaVersion", "kind", "keys", "timestampAuthorities", "witnesses"}, name)
    if top["schemaVersion"] != 1 or top["kind"] != "TrustList":
        _refuse(name, "is not a TrustList of schema version 1")
    keys = tuple(_trusted(one, f"{name}: keys[{at}]") for at, one in enumerate(_list(top["keys"], name)))
    if len({(one.role, one.key.key_id) for one in keys}) != len(keys):
        _refuse(name, "lists a key twice for one role")
    return TrustList(
        keys,
        tuple(_authority(one, name) for one in _list(top["timestampAuthorities"], name)),
        tuple(_witness(one, name) for one in _list(top["witnesses"], name)),
    )


def authority(name: str, pem: str) -> TimestampAuthority:
    """An authority from its certificates as PEM text."""
    try:
        certificates = x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise Unproven("TRUST_INVALID", f"time-stamp authority {name!r}: no PEM certificates: {error}.") from error
    if not any(is_root(one) for one in certificates):  # a chain that ends below a root can't be checked
        raise Unproven("TRUST_INVALID", f"time-stamp authority {name!r}: its root certificate is not among them.")
    return TimestampAuthority(name, tuple(certificates), pem)


def is_root(certificate: x509.Certificate) -> bool:
    """Whether a chain may end here."""
    return certificate.issuer == certificate.subject


def _limits(one: TrustedKey) -> dict[str, str]:
    given = {"validFrom": one.valid_from, "revokedFrom": one.revoked_from}
    return {name: at.strftime(TIME_FORMAT) for name, at in given.items() if at is not None}


def time(text: Any, name: str) -> datetime:
    """A time as a list writes it."""
    try:
        at = datetime.strptime(text, TIME_FORMAT).replace(tzinfo=UTC)
    except (TypeError, ValueError):
        _refuse(name, f"has the time {str(text)[:40]!r}, which is not of the form 2026-01-31T12:00:00Z")
    if at.strftime(TIME_FORMAT) != text:
        _refuse(name, f"has the time {text[:40]!r}, which is not of the form 2026-01-31T12:00:00Z")
    return at


def _trusted(raw: Any, name: str) -> TrustedKey:
    one = _object(raw, {"role", "keyId", "publicKey", "development"}, name, may=("validFrom", "revokedFrom"))
    if one["role"] not in ROLES:
        _refuse(name, f"has the role {one['role']!r}, which is none of {', '.join(ROLES)}")
    if not isinstance(one["development"], bool):
        _refuse(name, "says neither true nor false about `development`")
    valid, revoked = (time(one[at], name) if at in one else None for at in ("validFrom", "revokedFrom"))
    if valid and revoked and valid >= revoked:
        _refuse(name, "is revoked before it is valid")
    return TrustedKey(one["role"], _public(one, name), one["development"], valid, revoked)


def _authority(raw: Any, name: str) -> TimestampAuthority:
    one = _object(raw, {"name", "certificates"}, f"{name}: time-stamp authority")
    if not isinstance(one["name"], str) or not isinstance(one["certificates"], str):
        _refuse(name, "has a time-stamp authority whose name or certificates are no text")
    return authority(one["name"], one["certificates"])


def _witness(raw: Any, name: str) -> Witness:
    one = _object(raw, {"name", "keyId", "publicKey"}, f"{name}: witness")
    if not isinstance(one["name"], str):
        _refuse(name, "has a witness whose name is no text")
    return Witness(one["name"], _public(one, f"{name}: witness"))


def _key(key: PublicKey) -> dict[str, str]:
    return {"keyId": key.key_id, "publicKey": key.pem}


def _public(raw: dict[str, Any], name: str) -> PublicKey:
    if not isinstance(raw["publicKey"], str):
        _refuse(name, "has a public key that is no text")
    key = PublicKey.from_pem(raw["publicKey"])
    if key.key_id != raw["keyId"]:
        _refuse(name, f"names its key {str(raw['keyId'])[:64]}; it is {key.key_id}")
    return key


def _object(raw: Any, fields: set[str], name: str, *, may: Collection[str] = ()) -> dict[str, Any]:
    if not isinstance(raw, dict) or not fields <= set(raw) or set(raw) - fields - set(may):
        _refuse(name, f"has not exactly the fields {', '.join(sorted(fields))}")
    return raw


def _list(raw: Any, name: str) -> list[Any]:
    return raw if isinstance(raw, list) else _refuse(name, "has no list where one belongs")


def _refuse(name: str, why: str) -> NoReturn:
    raise Unproven("TRUST_INVALID", f"{name} {why}.")
