"""What `fairtrial keys` does: files of keys and trust lists, none of which is ever overwritten."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairtrial.attest import trust
from fairtrial.attest.publickey import PublicKey
from fairtrial.attest.trust import ROLES, TrustedKey, TrustList, Witness
from fairtrial.errors import InvalidInput
from fairtrial.signing import keys

MOUNTED_BY = ("operator", "evaluator", "analysis")  # in a cluster; the others are people's


def make(roles: Sequence[str], folder: Path) -> Iterator[str]:
    """Make a key for each role; tells each key's id, and what is to be done with it."""
    for role in roles:
        _check_role(role)
    taken = [path for role in roles for path in _paths(role, folder) if path.exists()]
    if taken or len(set(roles)) != len(roles):
        what = f"{taken[0]}: exists already." if taken else "--role: names a role twice."
        raise InvalidInput(what, next_move="Name another folder; no key is overwritten.")
    folder.mkdir(parents=True, exist_ok=True)
    for role in roles:
        private, public = _paths(role, folder)
        made = keys.new(private)
        public.write_text(made.public.pem)
        yield f"{role}  {made.key_id}  {private}"
    for role in roles:
        if role in MOUNTED_BY:
            yield f"kubectl create secret generic fairtrial-{role}-key --from-file=key.pem={_paths(role, folder)[0]}"


def listed(
    named: Sequence[str], to: Path, authorities: Sequence[str], witnesses: Sequence[str], *, development: bool
) -> str:
    """Write a trust list; says what is in it."""
    trusted = []
    for role, file in map(_pair, named):
        _check_role(role)
        trusted.append(TrustedKey(role, _public(file), development))
    made = TrustList(
        tuple(trusted),
        tuple(trust.authority(name, _read(file)) for name, file in map(_pair, authorities)),
        tuple(Witness(name, _public(file)) for name, file in map(_pair, witnesses)),
    )
    _write(made.to_bytes(), to)
    return f"{to}: {len(made.keys)} keys, {len(made.timestamp_authorities)} time-stamp authorities"


def limited(file: Path, key_id: str, to: Path, valid_from: str, revoked_from: str) -> str:
    """Write the list again with a limit in time on one key, in every role that it has; says which."""
    found = trust.load(_read(file).encode(), name=str(file))
    limits: dict[str, Any] = {
        field: trust.time(text, option)
        for field, option, text in (
            ("valid_from", "--valid-from", valid_from),
            ("revoked_from", "--revoked-from", revoked_from),
        )
        if text
    }
    chosen = [one for one in found.keys if one.key.key_id.startswith(key_id)]
    if not limits:
        raise InvalidInput("No time was given.", next_move="Say --valid-from or --revoked-from.")
    if not key_id or len({one.key.key_id for one in chosen}) != 1:
        raise InvalidInput(f"{file}: {len(chosen)} keys begin with {key_id!r}.", next_move="Name one: `keys show`.")
    made = replace(found, keys=tuple(replace(one, **limits) if one in chosen else one for one in found.keys))
    _write(made.to_bytes(), to)
    return f"{to}: {', '.join(one.role for one in chosen)} {chosen[0].key.key_id} limited"


def shown(what: str, *, pem: bool) -> Iterator[str]:
    """A line for each key in a file, or of the signing key at a URI."""
    if not Path(what).exists() and ":" in what:
        yield from _lines(keys.load(what, pin=os.environ.get(keys.PIN_VARIABLE, "")).public, "", pem=pem)
        return
    text = _read(Path(what))
    if not text.lstrip().startswith("{"):
        private = "PRIVATE KEY" in text
        yield from _lines(keys.load(f"file:{what}").public if private else PublicKey.from_pem(text), "", pem=pem)
        return
    found = trust.load(text.encode(), name=what)
    for one in found.keys:
        yield from _lines(one.key, f"{one.role}{' (development)' if one.development else ''}  ", _limits(one), pem=pem)
    for authority in found.timestamp_authorities:
        yield f"time-stamp authority {authority.name}: {len(authority.certificates)} certificates"
    for witness in found.witnesses:
        yield from _lines(witness.key, f"witness {witness.name}  ", pem=pem)


def _lines(key: PublicKey, before: str, after: str = "", *, pem: bool) -> Iterator[str]:
    yield f"{before}{key.key_id}  {'Ed25519' if key.deterministic else 'ECDSA P-256'}{after}"
    if pem:
        yield key.pem.rstrip("\n")


def _limits(one: TrustedKey) -> str:
    given = {"valid from": one.valid_from, "revoked from": one.revoked_from}
    return "".join(f"  {what} {at:{trust.TIME_FORMAT}}" for what, at in given.items() if at is not None)


def _write(data: bytes, to: Path) -> None:
    """A new list, if it is one that an auditor's tools take: a key that is named twice, say, is found now."""
    trust.load(data, name=str(to))
    try:
        with to.open("xb") as out:
            out.write(data)
    except FileExistsError as error:
        raise InvalidInput(f"{to}: exists already.", next_move="Name a new file; no list is overwritten.") from error


def _paths(role: str, folder: Path) -> tuple[Path, Path]:
    return folder / f"{role}.key.pem", folder / f"{role}.pub.pem"


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InvalidInput(f"Role {role!r}: there is none of this name.", next_move=f"Name one of {', '.join(ROLES)}.")


def _pair(text: str) -> tuple[str, Path]:
    name, equals, file = text.partition("=")
    if not name or not equals or not file:
        raise InvalidInput(
            f"{text!r}: is not of the form NAME=FILE.", next_move="Write, say, operator=operator.pub.pem."
        )
    return name, Path(file)


def _public(file: Path) -> PublicKey:
    text = _read(file)
    if "PRIVATE KEY" in text:
        raise InvalidInput(f"{file}: is a private key.", next_move="Give the public one, beside it: ROLE.pub.pem.")
    return PublicKey.from_pem(text)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file}: can't be read: {error}.") from error
