"""`fairtrial task …`: make, check, prepare, verify and push tasks."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Make, check, prepare, verify and push tasks.", no_args_is_help=True)


class Kind(StrEnum):
    """Kinds of new tasks."""

    FEATURE = "feature"
    TYPE_FIX = "typeFix"
    RENAME = "rename"
    API_CHANGE = "apiChange"
    TEST_ADDITION = "testAddition"


class Output(StrEnum):
    """How a manifest is shown."""

    YAML = "yaml"


Folder = Annotated[Path, typer.Argument(help="Task folder.", metavar="FOLDER")]
LauncherFile = Annotated[
    Path | None, typer.Option("--launcher", metavar="FILE", help="JSON array: the argv under which submissions run.")
]


@app.command()
def new(
    name: Annotated[Path, typer.Argument(help="Folder to make; its last part is the task's name.", metavar="NAME")],
    kind: Annotated[Kind, typer.Option(help="Kind of work.")] = Kind.FEATURE,
) -> None:
    """Make a small complete task, to be edited into your own."""
    from fairtrial.task.scaffold import create

    for path in create(name, kind.value):
        typer.echo(f"  {name}/{path}")
    typer.echo(f"Made. Next: fairtrial task check {name}")


@app.command()
def check(folder: Folder, launcher: LauncherFile = None) -> None:
    """Validate a task and calibrate its checks: reference passes, untouched fixture and wrong solutions fail.

    Exit code 0: fit for use; 1: calibration failed or something leaks; 2: the task or this machine is not in order.
    """
    from fairtrial.cli.calibrate import run

    raise typer.Exit(run(folder, launcher))


@app.command()
def prepare(
    folder: Folder,
    dest: Annotated[Path, typer.Argument(help="Folder to make for the agent.", metavar="DEST")],
) -> None:
    """Write what an agent gets: TASK.md and project/, nothing else."""
    from fairtrial.cli.prepare import run

    run(folder, dest)
    typer.echo(f"Prepared {dest}: TASK.md and project/.")


@app.command()
def verify(
    folder: Folder,
    submission: Annotated[Path, typer.Argument(help="Prepared folder after the work.", metavar="SUBMISSION")],
    launcher: Annotated[Path, typer.Argument(help="JSON array: absolute argv of the tool.", metavar="LAUNCHER_JSON")],
    report: Annotated[Path, typer.Argument(help="Report to write; must not exist.", metavar="REPORT")],
) -> None:
    """Judge a submission on this machine, keeping all evidence beside the report.

    Exit code 0: passed; 1: failed; 2: invalid. Runs submitted code as you, not isolated: pods are for strangers.
    """
    from fairtrial.cli.verify import run

    raise typer.Exit(run(folder, submission, launcher, report))


@app.command()
def push(
    folder: Folder,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the BenchmarkTask.")] = "default",
    evaluator_image: Annotated[
        str | None, typer.Option(metavar="REF", help="Evaluator image as name@sha256:…; default: the task's own.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="kubectl context.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store and apply nothing.")] = False,
    output: Annotated[Output | None, typer.Option("--output", "-o", help="Print the manifest.")] = None,
) -> None:
    """Store a task's archives, once and for all, and apply the BenchmarkTask that names them."""
    from fairtrial.cli.push import run

    run(folder, namespace=namespace, image=evaluator_image, context=context, dry_run=dry_run, show=output is not None)
