"""The tree of commands. Each group is a module of its own; each command imports what it needs when it runs."""

import typer

from fairtrial.cli import task

app = typer.Typer(
    name="fairtrial",
    help="Benchmarks of AI agents on Kubernetes, turned into evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(task.app, name="task")


@app.callback()
def _root() -> None:
    """Benchmarks of AI agents on Kubernetes, turned into evidence."""
