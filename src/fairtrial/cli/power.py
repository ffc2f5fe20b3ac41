"""`fairtrial plan --power`: the cohort's own decision rule on synthetic cohorts of known truth, before anything runs.

How often would it say what, if there were no effect, or this one? The very code that decides later is simulated, with
the design that will be sealed. Needs the analysis part (numpy, scipy), which the other commands don't.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from rich.console import Console
from rich.table import Table

from fairtrial import documents
from fairtrial.api import BenchmarkCohort
from fairtrial.cli import output
from fairtrial.errors import InvalidInput

if TYPE_CHECKING:
    from fairtrial_analysis.rule.model import DecisionRule
    from fairtrial_analysis.rule.results import Design
    from fairtrial_analysis.rule.simulate import Plan
    from fairtrial_analysis.rule.truths import Truth
    from fairtrial_analysis.stats.proportions.rate import Rate


@dataclass(frozen=True)
class Power:
    """What to simulate: further numbers of repetitions, cohorts for each truth, and a file with truths of one's own."""

    repetitions: Sequence[int] = ()
    replicates: int = 1000
    truths: Path | None = None

    def run(self, cohort: BenchmarkCohort, *, as_json: bool) -> int:
        """Print the rule, what is unwise in it, and its operating characteristics; 1 where it can't decide at all."""
        rule, design = rule_and_design(cohort)
        from fairtrial_analysis.rule.english import english
        from fairtrial_analysis.rule.lint import lint

        console, findings = output.console(), lint(rule, design)
        if not as_json:
            for line in english(rule, design).splitlines():
                console.print(output.plain(line), soft_wrap=True)
        for finding in findings:
            sys.stderr.write(f"{finding.severity}: spec.decisionRule.{finding.field}: {finding.message}\n")
        if any(finding.severity == "error" for finding in findings):
            return 1
        made = self.simulated(cohort, rule, design)
        data = to_bytes(made)
        if as_json:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _show(console, made, hashlib.sha256(data).hexdigest())
        return 0

    def simulated(self, cohort: BenchmarkCohort, rule: "DecisionRule", design: "Design") -> "Plan":
        """The operating characteristics, by the analysis seed of the cohort."""
        from fairtrial_analysis.rule.simulate import GRID, plan

        spec = cohort.spec
        sizes = sorted({spec.repetitions, *self.repetitions})
        if sizes[0] < rule.min_valid_per_cell:
            raise InvalidInput(
                f"--repetitions {sizes[0]}: the rule asks for {rule.min_valid_per_cell} valid runs in each cell.",
                next_move="Ask for at least as many.",
            )
        grid = read_truths(self.truths) if self.truths else GRID
        count = len(grid) * len(sizes) * self.replicates
        sys.stderr.write(f"simulating {count} cohorts of {len(design.tasks)} tasks …\n")
        seed = spec.analysis.seed if spec.analysis else 0
        return plan(rule, design, seed, grid, sizes, self.replicates, spec.replacement.max_per_cell)


def rule_and_design(cohort: BenchmarkCohort) -> "tuple[DecisionRule, Design]":
    """The rule that the cohort would seal, between its treatment and its control, and the design it is applied to."""
    _analysis()
    from fairtrial_analysis.rule.model import rule_of_spec
    from fairtrial_analysis.rule.results import Design

    spec = cohort.spec
    roles = {role: [one.name for one in spec.candidates if one.role == role] for role in ("treatment", "control")}
    if spec.decision_rule is None:
        raise InvalidInput("spec.decisionRule: is missing, so there is nothing to simulate.", next_move="Add a rule.")
    if len(roles["treatment"]) != 1 or len(roles["control"]) != 1:
        raise InvalidInput(
            f"spec.candidates: {len(roles['treatment'])} treatments and {len(roles['control'])} controls.",
            next_move="Give one candidate the role treatment and one the role control.",
        )
    rule = rule_of_spec(spec.decision_rule.as_json(), roles["treatment"][0], roles["control"][0])
    arms = (rule.treatment, rule.control)
    return rule, Design(tuple(sorted(task.name for task in spec.tasks)), arms, spec.repetitions)


def read_truths(file: Path) -> "list[Truth]":
    """States of the world from a YAML list, such as `- {name: pilot, controlRate: 0.7, ratio: 0.85}`."""
    from fairtrial_analysis.rule.truths import Truth

    try:
        raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidInput(f"{file}: cannot be read: {error}") from error
    if not isinstance(raw, list) or not raw or not all(isinstance(one, dict) for one in raw):
        raise InvalidInput(f"{file}: must be a list of truths, each with a name.")
    given = [{key: float(value) if type(value) is int else value for key, value in one.items()} for one in raw]
    try:
        found: list[Truth] = documents.from_json(list[Truth], given, str(file))
    except ValueError as error:
        raise InvalidInput(f"{file}: {error}.") from error
    if len({truth.name for truth in found}) < len(found):
        raise InvalidInput(f"{file}: two truths have one name.", next_move="Give each a name of its own.")
    return found


def to_bytes(made: "Plan") -> bytes:
    """The whole as JSON, the same for the same cohort file: to be kept beside the schedule."""
    from fairtrial_analysis.stats.render import plain

    return json.dumps(plain(made), sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _show(console: Console, made: "Plan", sha256: str) -> None:
    _print_table(console, made)
    console.print(f"\n{_precision(made)}", highlight=False)
    for line in limits(made):
        console.print(output.plain(line), soft_wrap=True)
    console.print(f"Seed {made.seed}; SHA-256 of the whole as JSON (--json): {sha256}", highlight=False, soft_wrap=True)


def _precision(made: "Plan") -> str:
    """How far a rate may be off. Where all of n cohorts end alike its standard error says nothing, the rule of three
    does: no event in n is compatible with a rate of 3/n (95 %; Hanley and Lippman-Hand, JAMA 1983).
    """
    replicates = made.characteristics[0].replicates
    rates = [rate for one in made.characteristics for rate in (one.supported, one.not_supported, one.inconclusive)]
    spread = max(sqrt(share * (1 - share) / replicates) for share in (float(rate.value or 0) for rate in rates))
    off = (
        f"its standard error is at most {spread:.3f}" if spread else f"it is off by {3 / replicates:.3f} at most (95 %)"
    )
    return f"Each rate is of {replicates} simulated cohorts; {off}."


def _print_table(console: Console, made: "Plan") -> None:
    columns = ("if this were true", "repetitions", "SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE", "replacements")
    table = Table(*columns, box=None, pad_edge=False)
    for one in made.characteristics:
        shares = [_percent(rate) for rate in (one.supported, one.not_supported, one.inconclusive)]
        replaced = f"{float(one.expected_replacements):.1f}"
        table.add_row(one.truth.name.replace("_", " "), str(one.repetitions), *shares, replaced)
    console.print(table)


def limits(made: "Plan") -> list[str]:
    """What no number of repetitions of these tasks changes, in sentences."""
    first = made.limits[0]
    lines = [
        f"{name} is undecided in every simulated cohort: the truths say nothing of its metric. Simulate a copy of the "
        "rule without it to see what the rest would say."
        for name in made.undrawn
    ]
    lines += [
        f"{name} is met by chance alone with probability {float(chance):.3f}, however many repetitions there are."
        for name, chance in first.chance
    ]
    for limit in made.limits:
        error = limit.log_ratio
        if error.floor > 0:
            lines.append(
                f"Standard error of the mean log ratio, where tasks differ in effect: {error.standard_error:.3f} as "
                f"planned, {error.floor:.3f} with endless repetitions. Only more tasks lower that."
            )
            break
    smallest = float(first.attainable.smallest_p_over_tasks)
    lines.append(f"The smallest two-sided p that flipping whole tasks can give is {smallest:.5f}.")
    if not first.attainable.median_interval_exists:
        needed = first.attainable.repetitions_for_median_interval
        lines.append(f"A cell's median has no 95 % interval with so few repetitions; {needed} are needed.")
    return lines


def _percent(rate: "Rate") -> str:
    return f"{100 * float(rate.value or 0):.1f} %"


def _analysis() -> None:
    try:
        import fairtrial_analysis  # noqa: F401
    except ImportError as error:
        raise InvalidInput(
            "--power needs the analysis part, which is not installed.",
            next_move="Install it: pip install 'fairtrial[analysis]'.",
        ) from error
