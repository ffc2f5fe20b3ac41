"""Synthetic cohorts of which the truth is known: how often a rule says what, and what it must say of shipped ones.

Reference: the usual model of such experiments. Success is a coin whose log-odds differ between tasks; tokens are
log-normal within a cell around a task's own size. Uniform numbers of PCG64 are turned into normal ones by
scipy.special.ndtri, so that the stream depends on nothing but bits. Invalid runs are replaced up to the cell's maximum,
as they would be.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from fairtrial_analysis.rule.model import DecisionRule
from fairtrial_analysis.rule.results import Design, GateEvidence, Outcome, Results, Trial
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.value import Value, measured, missing

_LOST = missing("not_reported")
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """One state of the world. Rates are those of a task without an effect of its own."""

    name: str
    control_rate: float = 0.8
    treatment_rate: float = 0.8
    ratio: float = 1.0  # of every amount, treatment over control
    within_log_sd: float = 0.5  # between runs of one cell
    task_log_sd: float = 0.8  # between sizes of tasks
    effect_log_sd: float = 0.0  # between tasks, of the logarithm of the ratio
    effect_logit_sd: float = 0.0  # between tasks, of the effect on success, in log-odds
    critical_rate: float = 0.0  # of the treatment's failures
    invalid_rate: float = 0.0
    missing_rate: float = 0.0

    def __post_init__(self) -> None:
        rates = (self.control_rate, self.treatment_rate, self.critical_rate, self.invalid_rate, self.missing_rate)
        spreads = (self.within_log_sd, self.task_log_sd, self.effect_log_sd, self.effect_logit_sd)
        if not all(0 <= rate <= 1 for rate in rates) or not all(0 <= spread <= 10 for spread in spreads):  # noqa: PLR2004
            raise ValueError(f"truth {self.name}: rates lie between 0 and 1, spreads between 0 and 10")
        if not 0 < self.ratio < math.inf:
            raise ValueError(f"truth {self.name}: a ratio is a positive number")


def cohorts(
    truth: Truth, rule: DecisionRule, design: Design, rng: np.random.Generator, count: int, replacements: int = 1
) -> Iterator[Results]:
    """`count` cohorts of this truth. Gates that need evidence are passed: what they show can't be simulated."""
    shown = {name: GateEvidence("pass", ("simulated",)) for name in rule.gates}
    runtime = {each.metric: measured(each.maximum) for each in rule.budgets}
    amounts = sorted(
        {each.metric for each in (*rule.conditions, *rule.data_gates) if METRICS[each.metric].kind == "amount"}
    )
    for _ in range(count):
        draws = _draw(truth, design, rng, replacements)
        trials = tuple(_trials(rule, design, draws, amounts))
        yield Results(replace(design, arms=(rule.treatment, rule.control)), trials, "confirmatory", shown, runtime)


def undrawn(rule: DecisionRule) -> tuple[str, ...]:
    """Conditions and gates on what no truth says anything of: they are undecided in every cohort that is drawn."""
    read = (*rule.data_gates, *rule.conditions)
    return tuple(each.name for each in read if METRICS[each.metric].kind == "change" or each.metric == "recovery_rate")


@dataclass(frozen=True)
class _Draws:
    """All random numbers of one cohort, by task, arm and repetition."""

    success: npt.NDArray[np.bool_]
    amounts: npt.NDArray[np.int64]
    critical: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.bool_]
    invalid: npt.NDArray[np.bool_]  # and by attempt


def _draw(truth: Truth, design: Design, rng: np.random.Generator, replacements: int) -> _Draws:
    tasks, shape = len(design.tasks), (len(design.tasks), 2, design.repetitions)
    size, effect, shift = (_normal(rng, (tasks,)) for _ in range(3))
    logit = np.stack(
        [_logit(truth.treatment_rate) + truth.effect_logit_sd * shift, np.full(tasks, _logit(truth.control_rate))], 1
    )
    mean = np.stack([math.log(truth.ratio) + truth.effect_log_sd * effect, np.zeros(tasks)], 1)
    center = math.log(50_000) + truth.task_log_sd * size[:, None] + mean
    logs = center[:, :, None] + truth.within_log_sd * _normal(rng, shape)
    return _Draws(
        rng.random(shape) < special.expit(logit)[:, :, None],
        np.rint(np.exp(np.clip(logs, 0, 40))).astype(np.int64),  # the clip keeps counts within 64 bits
        rng.random(shape) < truth.critical_rate,
        rng.random(shape) < truth.missing_rate,
        rng.random((*shape, replacements + 1)) < truth.invalid_rate,
    )


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # random() may give 0, of which the normal quantile is -infinity
    return np.asarray(special.ndtri(np.maximum(rng.random(shape), 2.0**-53)), dtype=np.float64)


def _logit(rate: float) -> float:
    return float(special.logit(rate))  # ±infinity at 0 and 1, where no effect can move it


def _trials(rule: DecisionRule, design: Design, draws: _Draws, amounts: list[str]) -> Iterator[Trial]:
    arms = (rule.treatment, rule.control)
    success, sizes, critical = draws.success.tolist(), draws.amounts.tolist(), draws.critical.tolist()
    lost, invalid = draws.lost.tolist(), draws.invalid.tolist()
    for t, task in enumerate(design.tasks):
        for a, arm in enumerate(arms):
            for r in range(design.repetitions):
                value: Value = _LOST if lost[t][a][r] else Value("measured", sizes[t][a][r])
                outcome: Outcome = "passed" if success[t][a][r] else "failed"
                severe = critical[t][a][r] and a == 0 and outcome == "failed" and rule.critical_categories
                category = (
                    rule.critical_categories[0] if severe else None if outcome == "passed" else "acceptance_failure"
                )
                values = dict.fromkeys(amounts, value)
                yield from _chain(
                    f"{task}-{arm}-{r + 1}", (task, arm, r + 1), outcome, values, category, invalid[t][a][r]
                )


def _chain(
    name: str,
    slot: tuple[str, str, int],
    outcome: Outcome,
    values: dict[str, Value],
    category: str | None,
    bad: list[bool],
) -> Iterator[Trial]:
    """A scheduled run and its replacements, until one is valid or no more may follow."""
    task, arm, repetition = slot
    before: str | None = None
    for attempt, invalid in enumerate(bad):
        run = f"{name}-r{attempt}" if attempt else name
        if not invalid:
            yield Trial(run, task, arm, repetition, outcome, values, category=category, replaces=before)
            return
        yield Trial(run, task, arm, repetition, "invalid", invalidity="host_failure", replaces=before)
        before = run
