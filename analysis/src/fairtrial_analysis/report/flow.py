"""What became of everything that was scheduled: flow, missing values, failures, and runs without a judgement. Pure."""

from collections import Counter
from collections.abc import Iterable

from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.report.accounts import ArmFailures, Failure, Flow, Lost, Missing, Sensitivity
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.numbers import number, share
from fairtrial_analysis.report.values import Counted, Of
from fairtrial_analysis.stats.flow.accounting import Accounting
from fairtrial_analysis.stats.flow.differential import differential_loss
from fairtrial_analysis.stats.flow.missingness import missingness
from fairtrial_analysis.stats.flow.taxonomy import UNCLASSIFIED, taxonomy
from fairtrial_analysis.stats.flow.taxonomy import Failure as Classified
from fairtrial_analysis.stats.flow.tipping_point import tipping_point
from fairtrial_analysis.stats.flow.worst_case import Counts, worst_case

AMBIGUOUS = "ambiguous"  # a tag: reviewed, without changing whether it passed
UNEQUAL_LOSS = 0.05


def flow(data: Data) -> list[Flow]:
    """Of all arms together, then of each."""
    return [_flow(data, None), *(_flow(data, arm) for arm in data.arms)]


def _flow(data: Data, arm: str | None) -> Flow:
    rows = [row for row in data.rows if arm is None or row.arm == arm]
    outcomes = Counter(row.outcome for row in rows)
    scheduled = data.scheduled(None) * (len(data.arms) if arm is None else 1)
    codes = counted((row.invalidity or row.reason, row.run) for row in rows if row.outcome == "invalid")
    account = Accounting(
        scheduled,
        sum(row.replaces is not None for row in rows),
        outcomes["passed"] + outcomes["failed"],
        {each.name: each.count for each in codes},
        outcomes["void"],
        outcomes["cancelled"],
        outcomes["not_run"],
    )
    return Flow(
        arm, scheduled, account.replacements, outcomes["passed"], outcomes["failed"], outcomes["invalid"],
        outcomes["void"], outcomes["cancelled"], outcomes["not_run"], codes, account.balanced,
    )  # fmt: skip


def counted(named: Iterable[tuple[str, str]], *, with_runs: bool = True) -> list[Counted]:
    """Of (name, run): how many runs each name has, in the order of names."""
    found: dict[str, list[str]] = {}
    for name, run in named:
        found.setdefault(name, []).append(run)
    return [Counted(name, len(runs), runs if with_runs else []) for name, runs in sorted(found.items())]


def missing(data: Data) -> list[Missing]:
    """Every metric in every arm, over valid runs."""
    made = []
    for metric in data.metrics:
        for arm in data.arms:
            found = missingness(data.values(data.valid(None, arm), metric))
            rate = found.missing_rate
            of = Of("valid", metric, arm=arm, reason="missing")
            told = share(
                rate.numerator, rate.denominator, of, scheduled=rate.scheduled, empty="not_applicable_anywhere",
                conventions=data.conventions, state="not_applicable",
            )  # fmt: skip
            reasons = [Counted(name, count) for name, count in found.reasons]
            made.append(
                Missing(
                    metric,
                    arm,
                    found.n,
                    found.present,
                    found.missing,
                    found.not_applicable,
                    found.void,
                    found.zeros,
                    told,
                    reasons,
                )
            )
    return made


def failures(data: Data) -> list[ArmFailures]:
    """By arm: every category, zeros too, and whose doing it was."""
    failed = [row for row in data.rows if row.outcome == "failed"]
    told = {each.arm: each for each in taxonomy(_classified(row) for row in failed)}
    made = []
    for arm in data.arms:
        mine = [row for row in failed if row.arm == arm]
        by = {each.name: each for each in counted((row.category or UNCLASSIFIED, row.run) for row in mine)}
        found = told.get(arm)
        names = [name for name, _ in (found or next(iter(told.values()), None) or _NOTHING).primary]
        made.append(
            ArmFailures(
                arm,
                len(mine),
                [by.get(name, Counted(name, 0)) for name in names],
                counted((tag, row.run) for row in mine for tag in row.tags),
                found.ambiguous if found else 0,
                counted(((row.cause, row.run) for row in mine), with_runs=False),
            )
        )
    return made


_NOTHING = taxonomy([Classified("", "")])[0]


def _classified(row: Row) -> Classified:
    return Classified(row.arm, row.task, row.category, row.tags, AMBIGUOUS in row.tags)


def failed_runs(data: Data) -> list[Failure]:
    """Each failed run by name."""
    return [
        Failure(row.run, row.task, row.arm, row.category, list(row.tags), row.cause, row.reason, AMBIGUOUS in row.tags)
        for row in data.rows
        if row.outcome == "failed"
    ]


def lost_runs(data: Data) -> list[Lost]:
    """Each run without a judgement, and each entry that was never run."""
    ledger = data.loaded.ledger
    made = []
    for row in data.rows:
        if row.valid:
            continue
        decision = ledger.decisions.get(row.run)
        made.append(
            Lost(
                row.run,
                row.uid,
                row.task,
                row.arm,
                row.repetition,
                row.outcome,
                row.invalidity,
                row.reason,
                row.message[:1000],
                decision.code if decision else None,
                decision.why if decision else None,
                (decision.by or None) if decision else None,
                row.replaces,
            )
        )
    return made


def sensitivity(data: Data) -> Sensitivity | None:
    """What runs without a judgement could have changed; None without treatment and control."""
    if data.pair is None:
        return None
    counts, lost = [], []
    for arm in data.pair:
        top, bottom = data.counts(None, arm)
        counts.append(Counts(top, bottom, max(data.scheduled(None) - bottom, 0)))
        begun = data.begun(arm)
        lost.append((sum(not row.valid for row in begun), len(begun)))
    bounds, point = worst_case(counts[0], counts[1]), tipping_point(counts[0], counts[1])
    fisher = differential_loss(lost[0], lost[1])
    of = Of("scheduled", "success_rate")
    return Sensitivity(
        number(bounds.low, "worst_case_low", of, reason=bounds.reason, n=counts[0].total + counts[1].total),
        number(bounds.high, "worst_case_high", of, reason=bounds.reason, n=counts[0].total + counts[1].total),
        number(point.turned, "tipping_point", of, reason=point.reason, state="not_applicable", unit="runs", n=point.of),
        [
            share(each, of_all, Of("begun", "lost", arm=arm), empty="nothing_begun", conventions=data.conventions)
            for arm, (each, of_all) in zip(data.pair, lost, strict=True)
        ],
        number(fisher.p, "fisher_exact", Of("begun", "lost"), reason=fisher.reason, n=lost[0][1] + lost[1][1]),
        None if fisher.p is None else fisher.p < UNEQUAL_LOSS,
    )
