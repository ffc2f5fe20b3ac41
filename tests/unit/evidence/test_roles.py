"""Rights in the bucket: every key that a part makes has one role that may create it, and nobody may do more."""

import fnmatch
import json
from typing import Any

import pytest

from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.roles import ROLES, RoleName, bucket_policy

SHA = "a" * 64
LAYOUT = Layout("trials/")
COHORT = LAYOUT.cohort("team", "paired", "cohort-uid")
RUN = LAYOUT.run("team", "paired-00001", "run-uid", "paired")
ALONE = LAYOUT.run("team", "run-1", "run-uid")
USERS: dict[RoleName, str] = {name: f"user-{name}" for name in ROLES}
CREATORS: list[tuple[str, set[str]]] = [
    (LAYOUT.public_archive(SHA), {"author"}),
    (LAYOUT.sealed_archive(SHA), {"author"}),
    (LAYOUT.probe("token", "race.bin"), {"operator", "gateway"}),
    (LAYOUT.refusals("gateway-0", 1_800_000_000_000), {"gateway"}),
    (COHORT.preregistration(), {"operator"}),
    (COHORT.preregistration_signature(), {"operator"}),
    (COHORT.preregistration_timestamp(), {"operator"}),
    (COHORT.study_signature(), {"studyOwner"}),
    (COHORT.ledger_page(1), {"operator"}),
    (COHORT.checkpoint(1), {"operator"}),
    (COHORT.checkpoint_timestamp(1), {"operator"}),
    (COHORT.correction(1), {"studyOwner"}),
    (COHORT.release(), {"studyOwner"}),
    (COHORT.released(SHA), {"studyOwner"}),
    (COHORT.attached("runtime.json"), {"studyOwner"}),
    (COHORT.attached("construction.json"), {"studyOwner"}),
    (COHORT.package(SHA) + "report.json", {"analysis"}),
    *[
        (key, creators)
        for run in (RUN, ALONE)
        for key, creators in (
            (run.record(), {"operator"}),
            (run.record_statement(), {"operator"}),
            (run.evaluation_statement(), {"gateway"}),
            (run.artifact("agent/report.json"), {"gateway"}),
            (run.artifact("model/calls.json"), {"gateway", "operator"}),
            (run.exchange("e1", "exchange.ftj"), {"gateway"}),
            (run.exchange("e1", "exchange.ftj", tool=True), {"gateway"}),
        )
    ],
]


def allowed(policy: dict[str, Any], user: str, action: str, key: str) -> bool:
    """As a store reads a policy."""
    return any(
        statement["Effect"] == "Allow"
        and user in statement["Principal"]["AWS"]
        and action in statement["Action"]
        and any(fnmatch.fnmatchcase(f"arn:aws:s3:::evidence/{key}", resource) for resource in statement["Resource"])
        for statement in policy["Statement"]
    )


@pytest.mark.parametrize(("key", "creators"), CREATORS)
def test_a_key_is_made_by_those_whose_it_is_and_by_nobody_else(key: str, creators: set[str]):
    policy = bucket_policy("evidence", USERS, "trials/")

    assert {name for name, user in USERS.items() if allowed(policy, user, "s3:PutObject", key)} == creators
    for name in creators:
        assert allowed(policy, f"user-{name}", "s3:GetObject", key)


def seeing(key: str) -> set[str]:
    policy = bucket_policy("evidence", USERS, "trials/")
    return {name for name, user in USERS.items() if allowed(policy, user, "s3:GetObject", key)}


def test_sealed_parts_are_seen_by_those_who_make_use_and_release_them():
    assert seeing(LAYOUT.sealed_archive(SHA)) == {"author", "gateway", "studyOwner"}


def test_what_was_released_is_seen_by_all_who_read_evidence():
    assert {"analysis", "auditor", "operator"} <= seeing(COHORT.released(SHA))


def test_what_was_refused_is_seen_by_the_auditor():
    assert seeing(LAYOUT.refusals("gateway-0", 1_800_000_000_000)) == {"auditor", "gateway"}


def test_nobody_may_delete_or_change_rules_and_nothing_is_outside_the_prefix():
    policy = bucket_policy("evidence", USERS, "trials/", retained=True)

    actions = {action for statement in policy["Statement"] for action in statement["Action"]}
    assert not {action for action in actions if "Delete" in action or "Bypass" in action or "PutBucket" in action}
    resources = {resource for statement in policy["Statement"] for resource in statement["Resource"]}
    assert {one for one in resources if "/" in one and not one.startswith("arn:aws:s3:::evidence/trials/")} == set()


def test_the_policy_of_all_roles_fits_a_store_that_keeps_few_bytes():
    """versitygw refuses more than 3,774, with an internal error."""
    users = {name: f"{name}-12345678" for name in USERS}

    policy = bucket_policy("bucket-12345678", users, "trials/", retained=True)

    assert len(json.dumps(policy, separators=(",", ":"))) <= 3774


def test_the_auditor_creates_nothing_and_sees_versions():
    statements = bucket_policy("evidence", {"auditor": "a"})["Statement"]

    actions = {action for statement in statements for action in statement["Action"]}
    assert "s3:PutObject" not in actions
    assert {"s3:ListBucketVersions", "s3:GetObjectRetention", "s3:GetObjectVersion"} <= actions


def test_a_store_that_knows_the_condition_denies_overwriting_to_all():
    (deny,) = [s for s in bucket_policy("b", USERS, conditional=True)["Statement"] if s["Effect"] == "Deny"]

    assert deny["Principal"]["AWS"] == sorted(USERS.values())
    assert deny["Condition"]["Null"] == {"s3:if-none-match": "true"}


@pytest.mark.parametrize(
    ("users", "why"),
    [
        ({"boss": "x"}, "role 'boss'"),
        ({"operator": "x", "gateway": "x"}, "two roles have one account"),
        ({"auditor": "*"}, "is everybody"),
    ],
)
def test_roles_that_make_no_sense_are_refused(users: Any, why: str):
    with pytest.raises(InvalidInput, match=why):
        bucket_policy("b", users)
