"""The tree of commands. Each group is a module of its own; each command imports what it needs when it runs."""

import inspect
import re
from pathlib import Path
from typing import Annotated

import typer

from fairtrial.cli import adapter, keys, store, task
from fairtrial.evidence.correction import REASONS as CORRECTION_REASONS

app = typer.Typer(
    name="fairtrial",
    help="Benchmarks of AI agents on Kubernetes, turned into evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(task.app, name="task")
app.add_typer(adapter.app, name="adapter")
app.add_typer(keys.app, name="keys")
app.add_typer(store.app, name="store")


Run = Annotated[str, typer.Argument(help="Name of the BenchmarkRun.", metavar="RUN")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the runs.")]
Context = Annotated[str | None, typer.Option(help="kubectl context; the current one by default.")]


@app.command("try")
def try_(
    file: Annotated[Path, typer.Argument(help="YAML file with one BenchmarkRun.", metavar="RUN.yaml")],
    task_folder: Annotated[
        Path | None,
        typer.Option("--task", metavar="FOLDER", help="Task folder; default: ../tasks/NAME beside the file's folder."),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="New folder for summary.json and every artifact.")
    ] = None,
    work: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="New folder to work in, kept; by default one that goes away.")
    ] = None,
    model_url: Annotated[
        str, typer.Option("--model-url", metavar="URL", help="Provider of a candidate that calls a model, without /v1.")
    ] = "",
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="The model that it names.")] = "",
    model_token: Annotated[
        str,
        typer.Option(
            "--model-token", metavar="TOKEN", envvar="FAIRTRIAL_MODEL_TOKEN", help="Its key; better in the variable."
        ),
    ] = "",
) -> None:
    """A whole run as local processes: not isolated, not evidence.

    The candidate is somebody's program, and runs as you: only try what you would start yourself. An agent that calls a
    model needs --model-url and --model: a provider's, or those of `fairtrial scripted-provider` or `model-gateway`.
    Exit code 0: passed; 1: failed; 2: anything else.
    """
    from fairtrial.cli.try_run import model_of, run

    raise typer.Exit(run(file, task_folder, keep, work, model_of(model_url, model, model_token)))


@app.command()
def watch(
    cohorts: Annotated[
        list[str] | None, typer.Argument(metavar="[COHORT]...", help="Show these BenchmarkCohorts, not single runs.")
    ] = None,
    namespace: Namespace = "default",
    selector: Annotated[str, typer.Option(metavar="LABELS", help="Only runs with these labels.")] = "",
    context: Context = None,
) -> None:
    """Show what every run of a namespace does, until each is recorded; or how far cohorts are, until all is over.

    A live table on a terminal; elsewhere one line for each change. Ctrl-C ends only the watching.
    """
    from fairtrial.cli import watch_cohorts
    from fairtrial.cli.kubectl import Kubectl
    from fairtrial.cli.watch import watch as show

    if cohorts and selector:
        raise typer.BadParameter("--selector chooses among single runs; give it or COHORT, not both.")
    if cohorts:
        watch_cohorts.run(Kubectl(context, namespace), cohorts)
    else:
        show(Kubectl(context, namespace), selector)


@app.command()
def record(run: Run, namespace: Namespace = "default", context: Context = None) -> None:
    """Print a run's record, after checking that its bytes have the SHA-256 that the run's status names.

    The store is the one that FAIRTRIAL_S3_ENDPOINT, FAIRTRIAL_S3_BUCKET, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
    name.
    """
    from fairtrial.cli import records

    records.record(run, namespace, context)


@app.command()
def artifacts(
    run: Run,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="New folder for the record and every artifact.")],
    namespace: Namespace = "default",
    context: Context = None,
) -> None:
    """Download a run's record and every artifact that it names, each checked against the record's hash.

    The store is the one that FAIRTRIAL_S3_ENDPOINT, FAIRTRIAL_S3_BUCKET, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
    name. The folder is made once everything in it is there and checked; nothing is overwritten.
    """
    from fairtrial.cli import records

    records.artifacts(run, to, namespace, context)


@app.command()
def fetch(
    what: Annotated[
        str, typer.Argument(help="Name of a BenchmarkCohort, or s3://…/packages/<digest>.", metavar="COHORT|URI")
    ],
    namespace: Namespace = "default",
    to: Annotated[Path | None, typer.Option(metavar="FOLDER", help="New folder; by default evidence/<digest>.")] = None,
    context: Context = None,
) -> None:
    """Download a cohort's evidence package, every hash checked on the way; nothing is overwritten.

    By default the one that the cohort's status names. When it is stopped, the same command goes on where it was. The
    store is the one that FAIRTRIAL_S3_ENDPOINT, FAIRTRIAL_S3_BUCKET, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name.
    Who made the package, and whether what it says is so, `fairtrial verify` tells.
    """
    from fairtrial.cli.fetch import run

    run(what, namespace, context, to)


@app.command()
def report(
    what: Annotated[
        str, typer.Argument(help="Name of a BenchmarkCohort, or folder of a package.", metavar="COHORT|FOLDER")
    ],
    namespace: Namespace = "default",
    context: Context = None,
) -> None:
    """Print what the analysis says: verdict, gates and conditions, and how many runs it rests on.

    Of a cohort: from the package that its status names, checked against the digest there; the store is the one that
    FAIRTRIAL_S3_ENDPOINT, FAIRTRIAL_S3_BUCKET, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name. Of a folder: from a
    package that `fairtrial fetch` made. Whether what it says is so, `fairtrial verify` tells.
    """
    from fairtrial.cli.report import report as show

    show(what, namespace, context)


@app.command()
def sign(
    cohort: Annotated[str, typer.Argument(help="Name of a sealed BenchmarkCohort.", metavar="COHORT")],
    key: Annotated[str, typer.Option(metavar="FILE|URI", help="The study owner's key: a PEM file, hsm:…, awskms:…")],
    namespace: Namespace = "default",
    context: Context = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be signed, and sign nothing.")] = False,
    pin: Annotated[
        str, typer.Option(envvar="FAIRTRIAL_SIGNING_PIN", help="A hardware module's PIN; better in the variable.")
    ] = "",
) -> None:
    """Sign a cohort's preregistration as the study owner, beside the operator's own signature.

    What is signed is shown: it is read from the store, checked against the digest in the cohort's status, and checked
    to fit its own schedule. The store is the one that FAIRTRIAL_S3_ENDPOINT, FAIRTRIAL_S3_BUCKET, AWS_ACCESS_KEY_ID and
    AWS_SECRET_ACCESS_KEY name.
    """
    from fairtrial.cli.sign import run

    for line in run(cohort, key, pin, namespace, context, dry_run=dry_run):
        typer.echo(line)


@app.command()
def release(
    cohort: Annotated[str, typer.Argument(help="Name of a complete BenchmarkCohort.", metavar="COHORT")],
    key: Annotated[
        str, typer.Option(metavar="FILE|URI", help="The study owner's key: a PEM file, hsm:…, awskms:…")
    ] = "",
    trust: Annotated[
        Path | None,
        typer.Option(metavar="TRUST.json", help="Refuse a key to which this trust list gives no right to release."),
    ] = None,
    namespace: Namespace = "default",
    context: Context = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and show what would be published, and publish nothing.")
    ] = False,
    pin: Annotated[
        str, typer.Option(envvar="FAIRTRIAL_SIGNING_PIN", help="A hardware module's PIN; better in the variable.")
    ] = "",
) -> None:
    """Publish what was hidden from agents, as the study owner: hidden tests and reference solutions of all tasks.

    Every archive is checked against the digest that was preregistered, copied to where auditors may read, and named in
    one signed statement. It can't be taken back. The next analysis tells the ledger and makes a package that holds the
    archives; packages made before stay as they are. The store is the one that FAIRTRIAL_S3_ENDPOINT and its companions
    name.
    """
    from fairtrial.audit.verify import load_trust
    from fairtrial.cli.release import key_of, run

    trusted = load_trust(trust) if trust is not None else None
    signer = None if dry_run else key_of(key, pin, trusted)
    for line in run(cohort, signer, namespace, context):
        typer.echo(line)


@app.command()
def correct(  # noqa: PLR0913, PLR0917 — options of a command line
    cohort: Annotated[str, typer.Argument(help="Name of a complete BenchmarkCohort.", metavar="COHORT")],
    reason: Annotated[str, typer.Option(help=f"Why, as a code: {', '.join(CORRECTION_REASONS)}.")],
    says: Annotated[str, typer.Option(help="Why, in a sentence, for the report.")],
    run_name: Annotated[str, typer.Option("--run", metavar="RUN", help="The run that is meant.")] = "",
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=JSON", help="A field of its record and what it should be; repeatable."),
    ] = None,
    void: Annotated[bool, typer.Option("--void", help="The run may not count: it leaves its place empty.")] = False,
    evidence: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A document that shows it, by its SHA-256; repeatable.")
    ] = None,
    namespace: Namespace = "default",
    context: Context = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be stored, and store nothing.")] = False,
) -> None:
    """Correct or void the record of a run, or tell a deviation; the record itself stays as it is.

    With --set a correction, with --void a void, with neither a deviation, which the report tells and nothing more.
    What a run was, where it belongs and whether it passed can't be corrected: void the run. Nothing is counted
    anew until the cohort is analysed again. The store is the one that FAIRTRIAL_S3_ENDPOINT and its companions name.
    """
    from fairtrial.cli.correct import run, wanted_of

    wanted = wanted_of(reason, says, run_name, sets or [], evidence or [], void=void)
    for line in run(cohort, wanted, namespace, context, dry_run=dry_run):
        typer.echo(line)


@app.command()
def measurements(
    cohort: Annotated[str, typer.Argument(help="Name of a BenchmarkCohort with measurement tasks.", metavar="COHORT")],
    namespace: Namespace = "default",
    context: Context = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print runtime.json, which a gate of another cohort can name.")
    ] = False,
) -> None:
    """Print what the measurement tasks of a cohort found: median, quartiles, range and tail, by metric and candidate.

    Each record is read from the store that FAIRTRIAL_S3_ENDPOINT and its companions name.
    """
    from fairtrial.cli.measurements import run

    raise typer.Exit(run(cohort, namespace, context, as_json=as_json))


@app.command()
def attach(
    cohort: Annotated[str, typer.Argument(help="Name of a sealed BenchmarkCohort.", metavar="COHORT")],
    file: Annotated[Path, typer.Argument(help="construction.json or runtime.json.", metavar="FILE")],
    namespace: Namespace = "default",
    context: Context = None,
) -> None:
    """Put a document beside a cohort's evidence that one of its gates names by SHA-256: what construction cost, or
    what a runtime experiment measured. Another document than the gate names is refused.
    """
    from fairtrial.cli.attach import run

    typer.echo(run(cohort, file, namespace, context))


@app.command()
def plan(
    file: Annotated[
        Path, typer.Argument(help="YAML file with one BenchmarkCohort; - for standard input.", metavar="COHORT.yaml")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print canonical bytes: of the schedule, their SHA-256 is the digest.")
    ] = False,
    power: Annotated[
        bool, typer.Option("--power", help="Simulate the decision rule instead: how often it says what, and when.")
    ] = False,
    repetitions: Annotated[
        list[int] | None,
        typer.Option(help="With --power: further numbers of repetitions to try; may be repeated.", min=1, max=1000),
    ] = None,
    replicates: Annotated[
        int, typer.Option(help="With --power: simulated cohorts for each truth.", min=10, max=100000)
    ] = 1000,
    truths: Annotated[
        Path | None,
        typer.Option(help="With --power: YAML list of truths to simulate instead of the usual eight.", metavar="FILE"),
    ] = None,
) -> None:
    """Print the schedule that sealing a cohort will fix, and its digest. Needs no cluster.

    The same file gives the same bytes everywhere: what is printed here is what the preregistration will hold. Exit code
    1: the cohort can't be sealed, and every reason is printed with its field.

    --power prints the decision rule in English, what is unwise in it, and how often it would reach each verdict if
    there were no effect, or one of a given size; and what more repetitions can't buy.
    """
    from fairtrial.cli.plan import run
    from fairtrial.cli.power import Power

    if not power and (repetitions or truths is not None):
        raise typer.BadParameter("--repetitions and --truths need --power; what is planned, the file says.")
    raise typer.Exit(run(file, as_json=as_json, power=Power(repetitions or [], replicates, truths) if power else None))


@app.command("scripted-provider")
def scripted_provider(
    script: Annotated[Path, typer.Argument(help="YAML file with steps.", metavar="SCRIPT.yaml")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8099,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Add one JSON line for each request.")] = None,
    project: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the agent has the project, if not where the script says.")
    ] = None,
) -> None:
    """Play a script as a model, on the wires of Anthropic, OpenAI and Gemini, until interrupted.

    Prints its address. Point an agent at it, with any key and any model.
    """
    from fairtrial.cli.scripted_provider import run

    run(script, host=host, port=port, log=log, project=project)


@app.command("model-gateway")
def model_gateway(
    provider: Annotated[Path, typer.Argument(help="YAML file with one ModelProvider.", metavar="PROVIDER.yaml")],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="New folder for the journals.")],
    port: Annotated[int, typer.Option(help="Port of 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 8098,
    credential_from: Annotated[
        str, typer.Option(metavar="VARIABLE", help="Environment variable with the provider's credential.")
    ] = "MODEL_CREDENTIAL",
    key: Annotated[str, typer.Option(help="Key that the agent must send; one is made and printed otherwise.")] = "",
) -> None:
    """Record your own agent's model calls on this machine: the same journal as in a cluster, no cluster.

    Point the agent at the URL that is printed, with the key that is printed; its calls go to the provider with the real
    credential. Ctrl-C ends it and shows what was used and what it cost.
    """
    from fairtrial.cli.model_gateway import run

    run(provider, to, port=port, credential_from=credential_from, key=key)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a fetched evidence package.", metavar="FOLDER")],
    trust: Annotated[
        Path, typer.Option(metavar="TRUST.json", help="Whom to believe; from somewhere else than the package.")
    ],
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A checkpoint of the ledger that was kept elsewhere.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document with every finding.")] = False,
) -> None:
    """Check an evidence package offline: every hash, signature, entry, count and number, against the sealed plan.

    Everything that is wrong is told, with a code; what can't be shown is told apart. Nothing of the package is run or
    unpacked, and no network is used. Exit code 0: no findings; 1: findings; 2: nothing could be verified.
    """
    from fairtrial.cli.audit import run

    raise typer.Exit(run(folder, trust, checkpoint, as_json=as_json))


@app.callback()
def _root() -> None:
    """Benchmarks of AI agents on Kubernetes, turned into evidence."""


def _let_paragraphs_flow(group: typer.Typer) -> None:
    """Take line breaks out of the commands' docstrings: help would keep those of all paragraphs but the first."""
    for command in group.registered_commands:
        text = command.help or (command.callback and command.callback.__doc__) or ""
        command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))


for _group in (app, task.app, adapter.app, keys.app, store.app):
    _let_paragraphs_flow(_group)
