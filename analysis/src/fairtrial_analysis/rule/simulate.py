"""Operating characteristics: how often the rule, as it is frozen, would say what, over a grid of truths.

Reference: plain Monte Carlo with its own standard error; each truth has its own generator from the committed seed, so
that adding one moves no other. The rule is the very code that decides later, on synthetic cohorts. The work is bounded
by counting runs, not by a clock, so that the same request gives the same bytes.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fairtrial.errors import InvalidInput
from fairtrial_analysis.rule.evaluate import evaluate
from fairtrial_analysis.rule.model import DecisionRule
from fairtrial_analysis.rule.results import Design
from fairtrial_analysis.rule.truths import Truth, cohorts, undrawn
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.planning.attainable import Attainable, attainable, expected_replacements
from fairtrial_analysis.stats.planning.paired_size import RepetitionLimit, Variances, repetition_limit
from fairtrial_analysis.stats.proportions.rate import Rate, rate
from fairtrial_analysis.stats.ratios.task_wins import chance_of_at_least
from fairtrial_analysis.stats.resampling.seeds import generator

RUNS_MAX = 20_000_000  # about four minutes on one core
_BOOTSTRAP_RUNS = 3000  # a bootstrapped bound costs as much as evaluating so many runs

GRID: tuple[Truth, ...] = (
    Truth("no_effect"),
    Truth("no_effect_but_tasks_differ", effect_log_sd=0.3, effect_logit_sd=1.0),
    Truth("tokens_10_percent_lower", ratio=0.9),
    Truth("tokens_20_percent_lower", ratio=0.8),
    Truth("tokens_30_percent_lower", ratio=0.7),
    Truth("tokens_30_percent_lower_but_tasks_differ", ratio=0.7, effect_log_sd=0.3, effect_logit_sd=1.0),
    Truth("tokens_lower_success_15_points_worse", ratio=0.7, treatment_rate=0.65),
    Truth("both_better", ratio=0.7, treatment_rate=0.9),
)


@dataclass(frozen=True)
class Characteristic:
    """How often each verdict came, with its standard error, and how often each gate and condition passed."""

    truth: Truth
    repetitions: int
    replicates: int
    supported: Rate
    not_supported: Rate
    inconclusive: Rate
    standard_error: float  # of the rate of SUPPORTED
    passed: tuple[tuple[str, Rate], ...]
    expected_replacements: Fraction


@dataclass(frozen=True)
class Limits:
    """What no number of repetitions of these tasks changes."""

    chance: tuple[tuple[str, Fraction], ...]  # conditions that count tasks: probability without a difference
    log_ratio: RepetitionLimit  # standard error of the mean log ratio, as planned and with endless repetitions
    attainable: Attainable


@dataclass(frozen=True)
class Plan:
    """The power of a frozen rule, by truth and repetitions; and its limits."""

    rule_sha256: str
    conventions_sha256: str
    seed: int
    characteristics: tuple[Characteristic, ...]
    limits: tuple[Limits, ...]  # one per truth of which the effect differs between tasks, or of the first
    undrawn: tuple[str, ...] = ()  # conditions and gates that are undecided because no truth says anything of them


def plan(  # noqa: PLR0913, PLR0917 - each of them is printed in the preregistration
    rule: DecisionRule,
    design: Design,
    seed: int,
    truths: Sequence[Truth] = GRID,
    repetitions: Sequence[int] = (),
    replicates: int = 2000,
    replacements: int = 1,
    conventions: Conventions = CONVENTIONS,
) -> Plan:
    """Simulate the rule for every truth and number of repetitions; the design's own if none is named."""
    sizes = [replace(design, repetitions=number) for number in repetitions or (design.repetitions,)]
    _bounded(rule, sizes, len(truths) * replicates)
    found = tuple(
        simulate(rule, size, truth, seed, replicates, replacements, conventions) for size in sizes for truth in truths
    )
    varied = [truth for truth in truths if truth.effect_log_sd > 0] or list(truths[:1])
    limits = tuple(_limits(rule, design, truth, conventions) for truth in varied)
    return Plan(rule.sha256, conventions.sha256, seed, found, limits, undrawn(rule))


def simulate(
    rule: DecisionRule,
    design: Design,
    truth: Truth,
    seed: int,
    replicates: int = 2000,
    replacements: int = 1,
    conventions: Conventions = CONVENTIONS,
) -> Characteristic:
    """The rule's verdicts on `replicates` cohorts of one truth."""
    rng = generator(seed, f"simulate/{truth.name}/{design.repetitions}")
    verdicts: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    names: dict[str, None] = {}
    for results in cohorts(truth, rule, design, rng, replicates, replacements):
        decision = evaluate(rule, results, conventions, seed)
        verdicts[decision.verdict] += 1
        for line in decision.lines:
            names[line.name] = None
            passed[line.name] += line.state == "pass"
    supported, not_supported, inconclusive = (
        _rate(verdicts[verdict], replicates) for verdict in ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE")
    )
    share = float(supported.value or 0)
    invalid = Fraction(str(truth.invalid_rate))
    return Characteristic(
        truth,
        design.repetitions,
        replicates,
        supported,
        not_supported,
        inconclusive,
        math.sqrt(share * (1 - share) / max(replicates, 1)),
        tuple((name, _rate(passed[name], replicates)) for name in names),
        expected_replacements(2 * len(design.tasks) * design.repetitions, invalid, replacements),
    )


def _rate(count: int, replicates: int) -> Rate:
    return rate(count, replicates, empty="nothing_simulated")


def _bounded(rule: DecisionRule, sizes: Sequence[Design], cohorts_each: int) -> None:
    reading = (*rule.conditions, *rule.data_gates)
    drawn = sum(each.statistic == "pooledMedianRatio" and each.bound != "point" for each in reading)
    runs = sum(2 * len(each.tasks) * each.repetitions + drawn * _BOOTSTRAP_RUNS for each in sizes) * cohorts_each
    if runs > RUNS_MAX:
        most = RUNS_MAX * cohorts_each // max(runs, 1)
        raise InvalidInput(
            f"simulation: {runs} runs to simulate, of which at most {RUNS_MAX} are done in one go.",
            next_move=f"Ask for fewer replicates, truths or repetitions: about {most} cohorts in all would do.",
        )


def _limits(rule: DecisionRule, design: Design, truth: Truth, conventions: Conventions) -> Limits:
    tasks = len(design.tasks)
    counting = [each for each in rule.conditions if each.statistic in ("tasksLower", "tasksHigher")]
    chance = tuple(
        (each.name, chance_of_at_least(int(each.limit) + (each.comparison == "above"), tasks))
        for each in counting
        if each.comparison in ("atLeast", "above")
    )
    within = Fraction(str(truth.within_log_sd)) ** 2
    variances = Variances(Fraction(str(truth.effect_log_sd)) ** 2, within, within)
    return Limits(
        chance,
        repetition_limit(tasks, design.repetitions, variances),
        attainable(tasks, design.repetitions, conventions),
    )
