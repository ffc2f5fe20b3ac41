"""`fairtrial store policy`: what is printed is what the store is told."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from fairtrial.cli.app import app
from fairtrial.evidence.roles import bucket_policy

runner = CliRunner()


def test_the_policy_is_printed_in_one_line_for_the_accounts_given():
    options = [
        "--bucket",
        "evidence",
        "--prefix",
        "trials/",
        "--user",
        "operator=op",
        "--user",
        "auditor=eve",
        "--retained",
    ]

    done = runner.invoke(app, ["store", "policy", *options])

    assert done.exit_code == 0, done.output
    users: Any = {"operator": "op", "auditor": "eve"}
    assert json.loads(done.stdout) == bucket_policy("evidence", users, "trials/", retained=True)
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("users", "why"),
    [
        (["boss=x"], "must be ROLE=USER"),
        (["operator"], "must be ROLE=USER"),
        (["operator=x", "operator=y"], "role operator has an account already"),
        (["operator=x", "gateway=x"], "two roles have one account"),
    ],
)
def test_accounts_that_make_no_sense_are_refused(users: list[str], why: str):
    given = [item for user in users for item in ("--user", user)]

    done = runner.invoke(app, ["store", "policy", "--bucket", "b", *given])

    assert why in str(done.exception)
