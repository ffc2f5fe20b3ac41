"""`fairtrial store policy|audit`: the rights of each part in the bucket, and what the store says of what lies there."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairtrial.errors import InvalidInput
from fairtrial.evidence.roles import ROLES, RoleName, bucket_policy

app = typer.Typer(no_args_is_help=True, help="What the object store has to be told, and can be asked.")
_ROLES = ", ".join(f"{name} ({role.why})" for name, role in ROLES.items())


@app.command()
def policy(
    bucket: Annotated[str, typer.Option(help="Name of the bucket.")],
    user: Annotated[
        list[str], typer.Option(metavar="ROLE=USER", help=f"An account for a role; may be repeated. Roles: {_ROLES}.")
    ],
    prefix: Annotated[str, typer.Option(help="The chart's store.prefix.")] = "",
    retained: Annotated[bool, typer.Option(help="Objects are put with a retention (store.objectLockDays).")] = False,
    conditional: Annotated[
        bool, typer.Option(help="The store knows the condition key s3:if-none-match: deny every other put.")
    ] = False,
) -> None:
    """Print the policy of a bucket as JSON: each role reads and creates what is its own; nobody deletes or overwrites.

    A USER is a principal as the store names it: an ARN at AWS, an access key at others.
    """
    made = bucket_policy(bucket, _users(user), prefix, retained=retained, conditional=conditional)
    # Without spaces: some stores keep a policy in 4 KiB.
    sys.stdout.write(json.dumps(made, separators=(",", ":")) + "\n")


@app.command()
def audit(
    folder: Annotated[Path, typer.Argument(help="Folder of a fetched evidence package.", metavar="FOLDER")],
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="The day through which nobody may be able to delete; now.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document with every finding.")] = False,
) -> None:
    """Ask the store what no package can show: whether what it names was overwritten or deleted, or could be.

    Needs an account with the auditor's rights, in the store that FAIRTRIAL_S3_ENDPOINT, FAIRTRIAL_S3_BUCKET,
    AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name. Whether the package itself holds, `fairtrial verify` tells. Exit
    code 0: no findings; 1: findings; 2: the store could not be asked.
    """
    from fairtrial.cli.store_audit import run

    raise typer.Exit(run(folder, until, as_json=as_json))


def _users(given: Sequence[str]) -> dict[RoleName, str]:
    found: dict[RoleName, str] = {}
    for text in given:
        role, equals, user = text.partition("=")
        if not equals or not user or role not in ROLES:
            raise InvalidInput(f"--user {text!r}: must be ROLE=USER, with a role of {', '.join(ROLES)}.")
        if role in found:
            raise InvalidInput(f"--user {text!r}: role {role} has an account already.")
        found[role] = user
    return found
