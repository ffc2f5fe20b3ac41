"""`fairtrial keys …`: make signing keys, say who may sign what, and look at both."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Make signing keys, list whom an auditor trusts, and look at both.", no_args_is_help=True)


@app.command()
def new(
    role: Annotated[
        list[str],
        typer.Option(metavar="ROLE", help="studyOwner, operator, evaluator, analysis or auditor; once for each key."),
    ],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Where ROLE.key.pem and ROLE.pub.pem go.")],
) -> None:
    """Make an Ed25519 key for each role: a private file that only you may read, and a public one.

    Nothing is overwritten. Who has a private file can sign in that role's name: move it to a Kubernetes Secret, and
    keep no other copy than a backup.
    """
    from fairtrial.cli.keyring import make

    for line in make(role, to):
        typer.echo(line)


@app.command()
def trust(
    keys: Annotated[
        list[str], typer.Argument(metavar="ROLE=FILE...", help="Public keys (PEM), each with the role that it has.")
    ],
    to: Annotated[Path, typer.Option(metavar="FILE", help="The new trust list, such as trust.json.")],
    authority: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A time-stamp authority's root certificates (PEM); may be repeated."),
    ] = None,
    witness: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="A witness's public key (PEM); may be repeated.")
    ] = None,
    development: Annotated[
        bool, typer.Option("--development", help="Mark all these keys as made for trying things out.")
    ] = False,
) -> None:
    """Write down whom an auditor trusts, for what.

    Publish the list before the first run, and outside the bucket that it judges: in a registration, a signed tag, a
    paper. A list that only comes with the evidence proves nothing.
    """
    from fairtrial.cli.keyring import listed

    typer.echo(listed(keys, to, authority or [], witness or [], development=development))


@app.command()
def limit(
    file: Annotated[Path, typer.Argument(metavar="TRUST.json", help="A trust list; it stays as it is.")],
    key: Annotated[str, typer.Argument(metavar="KEY-ID", help="The key, or how its id begins.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="The new trust list.")],
    valid_from: Annotated[
        str, typer.Option(metavar="TIME", help="What it signed before counts nothing: 2026-01-31T12:00:00Z.")
    ] = "",
    revoked_from: Annotated[
        str, typer.Option(metavar="TIME", help="What it signed since counts nothing, such as after it was stolen.")
    ] = "",
) -> None:
    """Say from when on, or until when, a key is to be trusted.

    What was signed before a revocation counts only if something else shows that it is older: the ledger, and for the
    operator's own key a time-stamp. Publish the new list as the first one.
    """
    from fairtrial.cli.keyring import limited

    typer.echo(limited(file, key, to, valid_from, revoked_from))


@app.command()
def show(
    what: Annotated[
        str, typer.Argument(metavar="FILE|URI", help="A trust list, a key as PEM, or the URI of a signing key.")
    ],
    pem: Annotated[bool, typer.Option("--pem", help="Print the public key itself.")] = False,
) -> None:
    """Print the ids of the keys in a file, or of the signing key that a URI such as awskms:… names."""
    from fairtrial.cli.keyring import shown

    for line in shown(what, pem=pem):
        typer.echo(line)
