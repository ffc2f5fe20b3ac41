"""`fairtrial adapter …`: show, try and check how the output of a harness becomes events."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Show, try and check how the output of a harness becomes events.", no_args_is_help=True)

Which = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME", help="YAML file with an adapter, or with a candidate that has one; or a built-in's name."
    ),
]
StreamFiles = Annotated[
    list[str],
    typer.Option("--stream", metavar="[SOURCE=]FILE", help="What the harness wrote; once for each of its streams."),
]
Root = Annotated[str, typer.Option(metavar="FOLDER", help="The agent's working folder when the stream was recorded.")]


@app.command("list")
def list_() -> None:
    """Name the built-in adapters."""
    from fairtrial.cli.adapters import listing

    listing()


@app.command()
def show(which: Which) -> None:
    """Print an adapter: a good beginning for one of your own."""
    from fairtrial.cli.adapters import text

    typer.echo(text(which), nl=False)


@app.command()
def run(
    which: Which,
    stream: StreamFiles,
    root: Root = "/workspace/project",
    summary: Annotated[bool, typer.Option("--summary", help="Print the counts instead of the events.")] = False,
) -> None:
    """Print the events of recorded streams, one JSON object per line."""
    from fairtrial.cli.adapters import normalized

    normalized(which, stream, root, summary=summary)


@app.command()
def check(
    which: Which,
    stream: StreamFiles,
    root: Root = "/workspace/project",
    expect: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Events that must come out, as `fairtrial adapter run` prints.")
    ] = None,
) -> None:
    """Check an adapter against streams that its harness has really written, whole and damaged in every way.

    Exit code 0: fit for use; 1: a check failed; 2: the adapter or a file is not in order.
    """
    from fairtrial.cli.adapters import checked

    raise typer.Exit(checked(which, stream, root, expect))
