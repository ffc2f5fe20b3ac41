"""Sections of the report that hold what was measured: success, amounts, reliability. Data only."""

from dataclasses import dataclass

from fairtrial_analysis.report.values import Exact, Number, Summary


# --- success ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class TaskSuccess:
    """One task: a rate per arm, in the order of `Design.arms`, and treatment minus control."""

    task: str
    category: str | None
    rates: list[Number]
    difference: Number


@dataclass(frozen=True)
class Outcomes:
    """How both arms' runs of one block ended, over complete blocks. Described, not tested: they are no true pairs."""

    both_passed: int
    only_treatment: int
    only_control: int
    neither: int
    incomplete: list[str]  # blocks that lack a valid run


@dataclass(frozen=True)
class Success:
    """Success rates and their difference, in ways that answer different questions."""

    rates: list[Number]  # by arm, over all tasks
    tasks: list[TaskSuccess]
    pooled: Number  # Newcombe: these tasks only
    over_tasks: Number  # Student over tasks: the population that they stand for
    widest: Number  # what a rule's `difference` looks at
    mantel_haenszel: Number
    superiority: Number  # probability, descriptive only
    sign_flip: Number
    blocks: Outcomes
    categories: list["GroupSuccess"]  # by category of task


@dataclass(frozen=True)
class GroupSuccess:
    """The rates of one category of tasks."""

    category: str
    tasks: list[str]
    rates: list[Number]


# --- ranks ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Standing:
    """One candidate on the leaderboard."""

    arm: str
    rate: Number  # of its valid runs, as in Success.rates
    score: Number  # what ranks go by: the mean over the tasks that all ranked candidates have
    rank: Number  # its interval: the ranks that it may have
    tied_with: list[str]  # candidates that it is not told apart from, in the order of Design.arms


@dataclass(frozen=True)
class Pair:
    """Two candidates over the same tasks: `arm` minus `against`. The interval is of this pair alone, not adjusted."""

    arm: str
    against: str
    difference: Number
    p: Number
    adjusted: Number
    apart: bool


@dataclass(frozen=True)
class Leaderboard:
    """Candidates by rank, those without one last. Secondary: no verdict rests on it."""

    standings: list[Standing]
    pairs: list[Pair]  # all there are: Holm's family
    tasks: list[str]  # in which every candidate that has a valid run has one
    left_out: list[str]
    smallest: Number  # by which one pair alone must differ to be told apart, at best


# --- amounts ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ArmAmount:
    """One metric in one arm, over all tasks: among successes, over all valid runs, and what one success took."""

    arm: str
    passed: Summary
    valid: Summary
    total: Number
    per_success: Number


@dataclass(frozen=True)
class TaskAmount:
    """One metric in one task: among successes by arm, over all valid runs by arm, and the ratio of the medians."""

    task: str
    passed: list[Summary]
    valid: list[Summary]
    ratio: Number
    success_worse: bool | None  # whether the treatment's success rate is lower here


@dataclass(frozen=True)
class TaskRatios:
    """Ratios of the tasks' own medians, so that no large task decides."""

    geometric_mean: Number
    median: Number
    without_one_low: Number
    without_one_high: Number
    most_influential: str | None  # the task whose absence moves the geometric mean most
    lower: Number
    equal: Number
    higher: Number
    not_evaluable: list[str]
    zeros_left_out: list[str]  # tasks with a ratio of zero, of which there is no logarithm


@dataclass(frozen=True)
class Paired:
    """Differences within blocks in which both arms passed; repeated random runs are no deterministic pairs."""

    pairs: int
    lower: int
    equal: int
    higher: int
    median_of_differences: Number
    difference_of_medians: Number
    hodges_lehmann: Number
    least: Number
    greatest: Number
    incomplete: list[str]  # blocks in which an arm has no success with the metric


@dataclass(frozen=True)
class Outlier:
    """A run outside Tukey's fences of its task and arm, among valid runs. Flagged, never removed."""

    run: str
    task: str
    arm: str
    value: Exact
    lower_fence: Exact
    upper_fence: Exact


@dataclass(frozen=True)
class Amount:
    """One metric that every run has: all that is told of it. Its single values are in `runs`."""

    metric: str
    unit: str
    role: str  # primary, secondary, or other: what the constitution calls it
    arms: list[ArmAmount]
    tasks: list[TaskAmount]
    ratios: TaskRatios
    pooled_ratio: Number  # of medians among successes, all tasks together
    all_runs_ratio: Number  # of medians over all valid runs
    per_success_ratio: Number
    contradiction: bool | None  # pooled medians and task-normalised ratios point in different directions
    paired: Paired
    outliers: list[Outlier]


# --- rates of the causal-harness protocol, and reliability ------------------------------------------------------------
@dataclass(frozen=True)
class ArmRates:
    """What is kept apart from success (protocol 4 §7). Each counts runs; those that it says nothing of are left out."""

    arm: str
    harness_reliability: Number  # that could be judged, of those begun
    policy_compliance: Number  # that kept to their authority, of those that could be judged
    recovery: (
        Number  # with a usable answer after every fault of the provider and no intervention, of those with a fault
    )
    effect_integrity: Number  # without an effect's receipt that came twice, of those whose harness gives receipts
    clean_end: Number  # after which nothing of the agent's ran or listened, of those in which that was looked for
    trace_complete: Number  # of valid ones
    eligible: Number  # passed, within authority, no effect twice, trace complete; of those that could be judged


@dataclass(frozen=True)
class CurvePoint:
    """pass@k and pass^k at one k; over tasks also if runs without a judgement were failures."""

    k: int
    pass_at_k: Number
    pass_hat_k: Number
    pass_at_k_unjudged_fail: Number | None = None
    pass_hat_k_unjudged_fail: Number | None = None
    not_evaluable: list[str] | None = None  # tasks with fewer than k valid runs


@dataclass(frozen=True)
class TaskCurve:
    """One task's reliability in one arm."""

    task: str
    points: list[CurvePoint]


@dataclass(frozen=True)
class Reliability:
    """One arm's curves: the suite's, each task with one weight, and each task's."""

    arm: str
    suite: list[CurvePoint]
    tasks: list[TaskCurve]
