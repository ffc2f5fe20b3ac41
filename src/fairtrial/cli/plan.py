"""`fairtrial plan`: what a cohort will do, without a cluster: the very schedule that sealing it will fix."""

import sys
from collections.abc import Iterable
from pathlib import Path

import yaml
from pydantic import ValidationError
from rich.table import Table

from fairtrial.api import BenchmarkCohort, parse
from fairtrial.api.reading import sentences
from fairtrial.cli import output
from fairtrial.cli.power import Power
from fairtrial.cohort.acceptance import problems
from fairtrial.cohort.schedule import Schedule, schedule_of
from fairtrial.errors import InvalidInput

STANDARD_INPUT = "-"


def run(file: Path, *, as_json: bool, power: Power | None = None) -> int:
    """Print the schedule and its digest, or with `power` what the decision rule would say; 1, with every problem and
    its field, where the cohort can't be sealed."""
    try:
        cohort = read_cohort(file)
    except InvalidInput as error:
        if not isinstance(error.__cause__, ValidationError):
            raise
        return _refuse(file, sentences(error.__cause__))
    found = problems(cohort)
    if found:
        return _refuse(file, map(str, found))
    if power is not None:
        return power.run(cohort, as_json=as_json)
    schedule = schedule_of(cohort)
    if as_json:
        sys.stdout.buffer.write(schedule.to_bytes())  # these bytes and no other: their SHA-256 is the digest
        sys.stdout.buffer.flush()
    else:
        _show(cohort, schedule)
    return 0


def _refuse(file: Path, found: Iterable[str]) -> int:
    for problem in found:
        sys.stderr.write(f"{file}: {problem}\n")
    return 1


def read_cohort(file: Path) -> BenchmarkCohort:
    """The one BenchmarkCohort of a YAML file, or of standard input."""
    try:
        text = sys.stdin.read() if str(file) == STANDARD_INPUT else file.read_text(encoding="utf-8")
        found = [document for document in yaml.safe_load_all(text) if document]
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidInput(f"{file}: cannot be read: {error}") from error
    cohorts = [one for one in found if isinstance(one, dict) and one.get("kind") == "BenchmarkCohort"]
    if len(cohorts) != 1:
        raise InvalidInput(f"{file}: holds {len(cohorts)} BenchmarkCohorts.", next_move="Give a file with exactly one.")
    cohort = parse(BenchmarkCohort, cohorts[0], name=str(file))
    if not cohort.metadata.name:
        raise InvalidInput(f"{file}: metadata.name: is missing; the names of all runs begin with it.")
    return cohort


def _show(cohort: BenchmarkCohort, schedule: Schedule) -> None:
    spec, console = cohort.spec, output.console()
    policy = spec.replacement
    console.print(
        f"{cohort.metadata.name}: {spec.stage}, {spec.mode}; {len(spec.tasks)} tasks x {len(spec.candidates)} "
        f"candidates x {spec.repetitions} repetitions = {len(schedule.entries)} runs",
        markup=False,
        soft_wrap=True,
    )
    replaced = f"at most {policy.max_per_cell} in a cell, for {', '.join(policy.reasons)}" if policy.reasons else "none"
    console.print(f"Replacements: {replaced}", markup=False, soft_wrap=True)
    table = Table("", "run", "block", "task", "candidate", "repetition", box=None, pad_edge=False)
    for entry in schedule.entries:
        cells = (str(entry.index), entry.run, entry.block, entry.task, entry.candidate, str(entry.repetition))
        table.add_row(*map(output.plain, cells))
    console.print(table)
    console.print(f"Schedule: seed {schedule.seed}, {schedule.algorithm}", markup=False, highlight=False)
    console.print(f"SHA-256: {schedule.sha256}", markup=False, highlight=False, soft_wrap=True)
