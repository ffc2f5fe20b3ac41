"""pass@k and pass^k of a suite: the mean over tasks, each task with the same weight.

Reference: the macro mean of tau-bench. A task with too few valid runs is listed, it neither vanishes nor counts as zero
(tau2-bench issues 493 and 497). Whether infrastructure errors count is a convention: `flipped` counts them as failures,
the other of the two that are published. No interval: use the t interval over tasks, never Wilson's on this mean.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.reliability.curve import Point


@dataclass(frozen=True)
class Attempts:
    """What one task's runs came to."""

    valid: int
    successes: int
    invalid: int = 0


@dataclass(frozen=True)
class Suite:
    """The mean over evaluable tasks, the others by name, and the mean if invalid runs were failures."""

    k: int
    value: Fraction | None
    tasks_evaluable: int
    tasks_not_evaluable: tuple[str, ...]
    flipped: Fraction | None
    reason: str = ""


def suite(tasks: Mapping[str, Attempts], k: int, estimator: Callable[[int, int, int], Point]) -> Suite:
    """The suite's value at one k, by `pass_at_k` or `pass_hat_k`."""
    points = {name: estimator(each.valid, each.successes, k) for name, each in sorted(tasks.items())}
    lost = tuple(name for name, each in points.items() if each.value is None)
    value = _mean([each.value for each in points.values() if each.value is not None])
    pessimist = [estimator(each.valid + each.invalid, each.successes, k).value for each in tasks.values()]
    flipped = _mean([each for each in pessimist if each is not None])
    reason = "" if value is not None else "no_task_with_enough_runs"
    return Suite(k, value, len(points) - len(lost), lost, flipped, reason)


def _mean(values: list[Fraction]) -> Fraction | None:
    return sum(values, Fraction(0)) / len(values) if values else None
