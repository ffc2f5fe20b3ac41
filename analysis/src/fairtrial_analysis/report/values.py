"""Numbers as the report holds them: each with its state, its method, and what it was computed of. Data only.

A number can be computed again by whoever has the records: `of` says from which runs and of what, `method` by which
definition. Methods are a closed list, `METHODS`, and each needs no more than the standard library of any language. What
is exact is compared exactly (`exact`, or a whole `value`); what needs a root, a logarithm or a distribution is rounded
to 12 significant digits, and agrees with another computation to nine.
"""

from dataclasses import dataclass, field
from typing import Literal

Real = int | float
State = Literal["measured", "missing", "not_applicable", "void"]
# Which runs. A run is valid if it passed or failed. Tasks and blocks are in the order of their names.
Among = Literal[
    "scheduled",  # entries of the schedule
    "begun",  # runs with a record, replaced ones too
    "valid",  # passed or failed
    "passed",
    "failed",
    "unjudged",  # begun and not valid
    "judgeable",  # valid, or a policy violation
    "blocks",  # of one task and repetition, in which both arms passed and have the metric
    "tasks",  # one value per task and arm: the rate of valid runs, or the median of passed ones
    "sessions",  # of the construction log
    "samples",  # of the runtime experiment
]

METHODS: dict[str, str] = {
    "count": "How many there are.",
    "share": "numerator / denominator, exactly; the interval is Wilson's.",
    "five_numbers": "Least value, quartiles by Hyndman and Fan's type 7, median, greatest value, mean, exactly; "
    "and the standard deviation with n - 1.",
    "sum": "The sum, exactly; missing as soon as one value is.",
    "per_success": "The sum over valid runs divided by the number of passed runs, exactly.",
    "difference_of_shares": "The treatment's share minus the control's, exactly; the interval is Newcombe's.",
    "mean_of_task_differences": "The mean over tasks of treatment minus control, or of `arm` minus `against`, exactly; "
    "the interval is Student's.",
    "wider_interval": "As mean_of_task_differences; the interval is the hull of Student's and Newcombe's.",
    "mantel_haenszel": "Sum of w(t - c) over sum of w with w = n·m/(n + m), over tasks, exactly.",
    "probability_of_superiority": "P(p > q), p ~ Beta(1 + c, 1 + n - c), q alike of the control, exactly.",
    "ratio_of_medians": "The treatment's median over the control's, exactly.",
    "ratio": "The treatment's value over the control's, exactly.",
    "geometric_mean": "exp of the mean of ln r over tasks with r > 0; the interval is Student's of ln r.",
    "median_of_ratios": "The median over tasks of the tasks' own ratios, exactly.",
    "leave_one_out_low": "The least geometric mean that leaving out one task gives.",
    "leave_one_out_high": "The greatest geometric mean that leaving out one task gives.",
    "tasks_lower": "The number of tasks in which the treatment's value is strictly lower.",
    "tasks_equal": "The number of tasks in which both values are equal.",
    "tasks_higher": "The number of tasks in which the treatment's value is strictly higher.",
    "median_of_differences": "The median over blocks of treatment minus control, exactly.",
    "difference_of_medians": "The median over those blocks of the treatment minus that of the control, exactly.",
    "hodges_lehmann": "The median of all (d_i + d_j)/2 with i <= j, exactly.",
    "least_difference": "The least difference, exactly.",
    "greatest_difference": "The greatest difference, exactly.",
    "pass_at_k": "1 - C(n - c, k)/C(n, k), exactly; over tasks the mean of those with n >= k.",
    "pass_hat_k": "C(c, k)/C(n, k), exactly; over tasks the mean of those with n >= k.",
    "pass_at_k_unjudged_fail": "As pass_at_k, with runs without a judgement counted as failed.",
    "pass_hat_k_unjudged_fail": "As pass_hat_k, with runs without a judgement counted as failed.",
    "worst_case_low": "The difference of shares if all without a judgement had gone against the treatment.",
    "worst_case_high": "The difference of shares if all without a judgement had gone for the treatment.",
    "tipping_point": "How few runs without a judgement, turned from for to against, leave no advantage.",
    "fisher_exact": "Fisher's two-sided p of both arms having lost runs at one rate.",
    "sign_flip": "Two-sided p of the sum of task differences over all exchanges of the arms' labels, exactly.",
    "mean_of_task_shares": "The mean over leaderboard.tasks of the task's own share, exactly.",
    "competition_rank": "1 + how many have a greater mean_of_task_shares; the interval is pairwise_holm.",
    "holm": "Holm's adjustment of the pairs' sign_flip, exactly; a pair without p keeps its place in the family.",
    "smallest_resolvable": "k/(tasks · repetitions), exactly, with the least k <= tasks of 2/2^k · pairs <= 0.05.",
    "break_even": "construction cost / (control's median - treatment's median), exactly.",
    "quantile_95": "The 95 % quantile by Hyndman and Fan's type 7, exactly.",
}

INTERVALS: dict[str, str] = {
    "wilson": "Wilson's score interval, without continuity correction.",
    "clopper_pearson": "The exact interval by binomial tails.",
    "newcombe": "Newcombe's hybrid of two Wilson intervals (his method 10).",
    "task_t": "mean ± t(0.975, tasks - 1) · s/√tasks, s with tasks - 1; of shares no further than -1 and 1.",
    "log_ratio_t": "The same of the logarithms, exponentiated.",
    "wider_of_newcombe_and_task_t": "The lower of both lower ends and the higher of both higher ends.",
    "median_order_statistics": "The narrowest symmetric pair of order statistics that covers 95 %.",
    "pairwise_holm": "1 + those that are better, to all ranked - those that are worse, in pairs with holm <= 0.05.",
    "decision_rule": "As the decision rule computed it; a bound of pooledMedianRatio is bootstrapped with the seed.",
}


@dataclass(frozen=True)
class Of:
    """What a number was computed of. No task is all tasks; no arm is both, treatment against control.

    With `against` it is of a pair: `arm` minus `against`.
    """

    among: Among
    metric: str | None = None
    task: str | None = None
    arm: str | None = None
    k: int | None = None
    reason: str | None = None  # of the runs that are counted: an outcome, a reason code, a category
    place: Literal["first", "second"] | None = None  # in the block
    against: str | None = None  # another arm


@dataclass(frozen=True)
class Interval:
    """An interval, or why there is none. An end that is left out of an unbounded one lies at infinity.

    `about` says what it speaks of: these very tasks, or the population that they stand for.
    """

    method: str
    confidence: str = "0.95"
    low: Real | None = None
    high: Real | None = None
    about: Literal["these_tasks", "task_population"] | None = None
    coverage: str | None = None  # exact, where it is known and not the confidence
    degenerate: bool | None = None  # all values are equal: the width says nothing
    unbounded: bool | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Number:
    """One number, or the state and the reason of there being none.

    `exact` is the number as a fraction or an integer, where `value` can't hold it exactly. `numerator` and
    `denominator` are counts of runs, `scheduled` how many there were to be.
    """

    state: State
    method: str
    of: Of
    value: Real | None = None
    exact: str | None = None
    unit: str | None = None
    n: int | None = None
    numerator: int | None = None
    denominator: int | None = None
    scheduled: int | None = None
    interval: Interval | None = None
    audit: Interval | None = None  # another interval beside it: Clopper and Pearson's at 0 and n successes
    reason: str | None = None
    runs: list[str] | None = None  # names of the runs behind it, where `of` does not say it


@dataclass(frozen=True)
class Exact:
    """A number of a summary: `exact` as in `Number`."""

    value: Real
    exact: str | None = None


@dataclass(frozen=True)
class Summary:
    """Five numbers of a sample, mean and spread, how many values they rest on, and how many there are not.

    Its values are in `runs`.
    """

    state: State
    of: Of
    n: int
    missing: int
    not_applicable: int
    void: int
    unit: str | None = None
    minimum: Exact | None = None
    q1: Exact | None = None
    median: Exact | None = None
    q3: Exact | None = None
    maximum: Exact | None = None
    mean: Exact | None = None  # supplementary
    standard_deviation: Real | None = None  # with n - 1; none of a single value
    interval: Interval | None = None  # of the median
    method: str = "five_numbers"
    reason: str | None = None


@dataclass(frozen=True)
class Counted:
    """How many there are of something that has a name."""

    name: str
    count: int
    runs: list[str] = field(default_factory=list)
