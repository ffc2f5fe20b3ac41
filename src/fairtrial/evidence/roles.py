"""Who may do what in the bucket: one table, from which the bucket policy is made. Pure.

Nobody may delete, overwrite, shorten a retention or change a policy: what is not allowed here is refused. A right to
create is a right to put under a new key, since every put is conditional; where a store knows the condition key
`s3:if-none-match`, a put without it is denied as well. What a role creates it may read, because a lost answer
is settled by looking.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import Layout

RoleName = Literal["operator", "gateway", "analysis", "author", "studyOwner", "auditor"]

Statement = dict[str, Any]
_READ = "s3:GetObject"
_CREATE = ("s3:PutObject", "s3:AbortMultipartUpload")
_RETAIN = ("s3:PutObjectRetention",)  # with the put itself, where every object is retained
_AUDIT = ("s3:GetObjectVersion", "s3:GetObjectRetention")
_LIST = ("s3:ListBucket", "s3:GetBucketObjectLockConfiguration")
_SWEEP = ("s3:ListBucketMultipartUploads",)
_AUDIT_BUCKET = ("s3:ListBucketVersions", "s3:GetBucketVersioning", "s3:GetBucketPolicy")


@dataclass(frozen=True)
class Role:
    """What one role reads and creates, as patterns below the prefix, where `*` stands for any characters; and why."""

    why: str
    reads: tuple[str, ...]
    creates: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()  # actions on the bucket itself
    audits: bool = False


ROLES: dict[RoleName, Role] = {
    "operator": Role(
        "seals cohorts, writes records, ledgers and the list of a run's model calls; reads the reports of pods",
        reads=("ns/*",),
        creates=(
            "probe/*",
            "ns/*/record.*",
            "ns/*/preregistration.json",
            "ns/*/preregistration.sigstore.json",
            "ns/*/preregistration.tsr",
            "ns/*/ledger/*",
            "ns/*/checkpoints/*",
            "ns/*/artifacts/model/calls.json",
        ),
        lists=(*_LIST, *_SWEEP),
    ),
    "gateway": Role(
        "hands out task archives, takes what pods upload, keeps journals of model and tool calls, and what it refused",
        reads=("tasks/*", "sealed/*", "ns/*/runs/*"),
        creates=(
            "probe/*",
            "ns/*/runs/*/artifacts/*",
            "ns/*/runs/*/model/*",
            "ns/*/runs/*/tool/*",
            "ns/*/runs/*/evaluation.sigstore.json",
            "refusals/*",
        ),
        lists=(*_LIST, *_SWEEP),
    ),
    "analysis": Role(
        "reads all evidence and writes packages",
        reads=("ns/*", "tasks/*"),
        creates=("ns/*/packages/*",),
        lists=_LIST,
    ),
    "author": Role("pushes tasks", reads=("tasks/*", "sealed/*"), creates=("tasks/*", "sealed/*")),
    "studyOwner": Role(
        "signs preregistrations, attaches documents that gates name, makes corrections, and releases hidden parts",
        reads=("ns/*", "tasks/*", "sealed/*"),
        creates=(
            "ns/*/preregistration.study.sigstore.json",
            "ns/*/construction.json",
            "ns/*/runtime.json",
            "ns/*/corrections/*",
            "ns/*/release/*",
        ),
        lists=_LIST,
    ),
    "auditor": Role(
        "reads all but sealed parts, and looks for versions, deletions and retention",
        reads=("ns/*", "tasks/*", "refusals/*"),
        lists=(*_LIST, *_AUDIT_BUCKET),
        audits=True,
    ),
}


def bucket_policy(
    bucket: str,
    users: Mapping[RoleName, str],
    prefix: str = "",
    *,
    retained: bool = False,
    conditional: bool = False,
) -> dict[str, Any]:
    """The policy of `bucket` for these users, by role. An account that no role names gets nothing.

    `users` are principals as the store names them: an ARN at AWS, an access key at others. `retained`: objects are put
    with a retention. `conditional`: the store knows `s3:if-none-match`, so that a put without it can be denied.
    """
    unknown = sorted(set(users) - set(ROLES))
    if unknown:
        raise InvalidInput(f"role {unknown[0]!r}: there is none; there are {', '.join(ROLES)}.")
    if "*" in users.values():
        raise InvalidInput("users: * is everybody, and no account.", next_move="Name the account of each role.")
    if len(set(users.values())) < len(users):
        raise InvalidInput("users: two roles have one account.", next_move="Give each role an account of its own.")
    base, holders, statements = f"arn:aws:s3:::{bucket}", dict[tuple[str, str], list[str]](), list[Statement]()
    for name in sorted(users):
        below, role = f"{base}/{Layout(prefix).prefix}", ROLES[name]
        statements += [_statement([users[name]], *own) for own in _own(below, role, retained=retained)]
        for right in _shared(base, below, role):
            holders.setdefault(right, []).append(users[name])
    statements += _statements(holders)
    if conditional:
        statements.append(_only_new(bucket, sorted(users.values())))
    return {"Version": "2012-10-17", "Statement": statements}


def _own(base: str, role: Role, *, retained: bool) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Actions and resources of what one role alone does: to create, and to read what it created; to audit."""
    if role.creates:
        yield (_READ, *_CREATE, *(_RETAIN if retained else ())), [base + one for one in role.creates]
    if role.audits:
        yield (_READ, *_AUDIT), [base + one for one in role.reads]


def _shared(bucket: str, base: str, role: Role) -> Iterator[tuple[str, str]]:
    """Every further action with its resource, in which roles are alike."""
    yield from ((_READ, base + one) for one in role.reads if one not in role.creates and not role.audits)
    yield from ((action, bucket) for action in role.lists)


def _statements(holders: Mapping[tuple[str, str], list[str]]) -> list[Statement]:
    """As few as can be: some stores keep a policy in 4 KiB."""
    by_users = dict[tuple[tuple[str, ...], str], list[str]]()  # (users, resource) → actions
    for (action, resource), names in holders.items():
        by_users.setdefault((tuple(names), resource), []).append(action)
    merged = dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]]()  # (users, actions) → resources
    for (users, resource), actions in by_users.items():
        merged.setdefault((users, tuple(actions)), []).append(resource)
    return [_statement(users, actions, resources) for (users, actions), resources in merged.items()]


def _statement(users: Sequence[str], actions: Sequence[str], resources: Sequence[str]) -> Statement:
    return {"Effect": "Allow", "Principal": {"AWS": [*users]}, "Action": [*actions], "Resource": [*resources]}


def _only_new(bucket: str, users: list[str]) -> dict[str, Any]:
    """Deny puts without the condition; parts and completions of multipart uploads carry theirs at the completion."""
    return {
        "Effect": "Deny",
        "Principal": {"AWS": users},
        "Action": ["s3:PutObject"],
        "Resource": [f"arn:aws:s3:::{bucket}/*"],
        "Condition": {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
    }
