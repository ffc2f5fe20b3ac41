"""pass@k and pass^k by task and over tasks, k from 1 to the repetitions. Pure.

No interval: Wilson's on a mean over tasks would be wrong, and ten tasks are few for another.
"""

from collections.abc import Callable
from functools import cache

from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.measured import CurvePoint, Reliability, TaskCurve
from fairtrial_analysis.report.numbers import number
from fairtrial_analysis.report.values import Number, Of
from fairtrial_analysis.stats.reliability.curve import Point
from fairtrial_analysis.stats.reliability.pass_at_k import pass_at_k
from fairtrial_analysis.stats.reliability.pass_hat_k import pass_hat_k
from fairtrial_analysis.stats.reliability.suite import Attempts, suite

K_MAX = 20  # of curves; the exact values of larger k are a few digits longer each
Estimator = Callable[[int, int, int], Point]
_at_k: Estimator = cache(pass_at_k)
_hat_k: Estimator = cache(pass_hat_k)
METRIC = "success_rate"


def reliability(data: Data) -> list[Reliability]:
    """The curves of every arm."""
    return [_of_arm(data, arm) for arm in data.arms]


def _of_arm(data: Data, arm: str) -> Reliability:
    tasks = {task: _attempts(data, task, arm) for task in data.tasks}
    most = min(data.repetitions, K_MAX)
    return Reliability(
        arm,
        [_suite(tasks, arm, k) for k in range(1, most + 1)],
        [
            TaskCurve(task, [_point(each, task, arm, k) for k in range(1, min(each.valid, K_MAX) + 1)])
            for task, each in tasks.items()
        ],
    )


def _attempts(data: Data, task: str, arm: str) -> Attempts:
    """Runs without a judgement are those entries of the schedule that no valid run stands for."""
    top, bottom = data.counts(task, arm)
    return Attempts(bottom, top, max(data.repetitions - bottom, 0))


def _point(attempts: Attempts, task: str, arm: str, k: int) -> CurvePoint:
    of = Of("valid", METRIC, task, arm, k)

    def made(name: str, estimator: Estimator) -> Number:
        found = estimator(attempts.valid, attempts.successes, k)
        return number(found.value, name, of, reason=found.reason, n=attempts.valid)

    return CurvePoint(k, made("pass_at_k", _at_k), made("pass_hat_k", _hat_k))


def _suite(tasks: dict[str, Attempts], arm: str, k: int) -> CurvePoint:
    of = Of("tasks", METRIC, arm=arm, k=k)
    at, hat = suite(tasks, k, _at_k), suite(tasks, k, _hat_k)
    return CurvePoint(
        k,
        number(at.value, "pass_at_k", of, reason=at.reason, n=at.tasks_evaluable),
        number(hat.value, "pass_hat_k", of, reason=hat.reason, n=hat.tasks_evaluable),
        number(at.flipped, "pass_at_k_unjudged_fail", of, reason=at.reason, n=len(tasks)),
        number(hat.flipped, "pass_hat_k_unjudged_fail", of, reason=hat.reason, n=len(tasks)),
        list(at.tasks_not_evaluable),
    )
