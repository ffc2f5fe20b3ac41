"""What the report must say of success, reliability and the harness: from the counts of runs alone. Pure."""

import math
from fractions import Fraction
from typing import Any

from fairtrial.audit.numbers.conduct import recovered, trace_gaps
from fairtrial.audit.numbers.distributions import counted_flip, superiority
from fairtrial.audit.numbers.expect import Ends, Num, of
from fairtrial.audit.numbers.intervals import clopper_pearson, newcombe, share_difference_t, wilson
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.sample import Sample, cause

METRIC = "success_rate"
K_MAX = 20
SUPERIORITY_MAX = 1000  # runs of both arms; of more it is not told
Counts = tuple[int, int]


def share(counts: Counts, about: dict[str, Any], scheduled: int | None = None) -> Num:
    """A rate with Wilson's interval, and Clopper and Pearson's where all or none succeeded."""
    top, bottom = counts
    said = {"n": bottom, "numerator": top, "denominator": bottom}
    if scheduled is not None:
        said["scheduled"] = scheduled
    if not bottom:
        return Num("share", about, None, counts=said)
    audit = clopper_pearson(top, bottom) if top in (0, bottom) else None
    return Num(
        "share",
        about,
        Fraction(top, bottom),
        Ends("wilson", *(wilson(top, bottom) or (None, None))),
        Ends("clopper_pearson", *audit) if audit else None,
        said,
    )


def success(sample: Sample, categories: dict[str, str]) -> dict[str, Any]:
    """The section of success rates and their difference."""
    made: dict[str, Any] = {
        "rates": [_rate(sample, None, arm) for arm in sample.arms],
        "tasks": [
            {
                "task": task,
                "category": categories.get(task),
                "rates": [_rate(sample, task, arm) for arm in sample.arms],
                "difference": _pooled(sample, task),
            }
            for task in sample.tasks
        ],
        "pooled": _pooled(sample, None),
        "categories": [_group(sample, name, categories) for name in sorted(set(categories.values()))],
        "blocks": _blocks(sample),
    }
    return made | _over_tasks(sample)


def _rate(sample: Sample, task: str | None, arm: str) -> Num:
    about = of("valid", METRIC, task=task, arm=arm)
    return share(sample.counts(METRIC, task, arm), about, sample.scheduled(task, arm))


def _pair_counts(sample: Sample, task: str | None) -> tuple[int, int, int, int]:
    ours, theirs = (sample.counts(METRIC, task, arm) for arm in sample.pair)
    return *ours, *theirs


def _pooled(sample: Sample, task: str | None) -> Num:
    about = of("valid", METRIC, task=task)
    if not sample.compares:
        return Num("difference_of_shares", about, None)
    a, n, b, m = _pair_counts(sample, task)
    if not n or not m:
        return Num("difference_of_shares", about, None, counts={"n": n + m})
    ends = newcombe(a, n, b, m)
    assert ends is not None
    value = Fraction(a, n) - Fraction(b, m)
    return Num("difference_of_shares", about, value, Ends("newcombe", *ends), counts={"n": n + m})


def task_differences(sample: Sample) -> list[Fraction]:
    """Treatment minus control in the tasks in which both have valid runs."""
    counts = [_pair_counts(sample, task) for task in sample.tasks]
    return [Fraction(a, n) - Fraction(b, m) for a, n, b, m in counts if n and m]


def _over_tasks(sample: Sample) -> dict[str, Any]:
    about, runs = of("tasks", METRIC), of("valid", METRIC)
    if not sample.compares:
        names = {"overTasks": "mean_of_task_differences", "widest": "wider_interval"}
        names |= {"mantelHaenszel": "mantel_haenszel", "signFlip": "sign_flip"}
        made = {key: Num(method, about, None) for key, method in names.items()}
        return made | {"superiority": Num("probability_of_superiority", runs, None)}
    differences, (a, n, b, m) = task_differences(sample), _pair_counts(sample, None)
    count = {"n": len(differences)}
    mean = sum(differences, Fraction(0)) / len(differences) if differences else None
    student, pooled = share_difference_t(differences), newcombe(a, n, b, m)
    both = [each for each in (student, pooled) if each is not None]
    hull = (min(each[0] for each in both), max(each[1] for each in both)) if both else None
    return {
        "overTasks": Num(
            "mean_of_task_differences", about, mean, Ends("task_t", *student) if student else None, counts=count
        ),
        "widest": Num(
            "wider_interval", about, mean, Ends("wider_of_newcombe_and_task_t", *hull) if hull else None, counts=count
        ),
        "mantelHaenszel": Num("mantel_haenszel", about, _mantel_haenszel(sample), counts=count),
        "superiority": _superiority((a, n), (b, m)),
        "signFlip": Num("sign_flip", about, counted_flip(differences), counts=count),
    }


def _superiority(ours: Counts, theirs: Counts) -> Num:
    about, n = of("valid", METRIC), ours[1] + theirs[1]
    if n > SUPERIORITY_MAX:
        return Num("probability_of_superiority", about, None)
    return Num("probability_of_superiority", about, superiority(*ours, *theirs), counts={"n": n})


def _mantel_haenszel(sample: Sample) -> Fraction | None:
    strata = [_pair_counts(sample, task) for task in sample.tasks]
    usable = [(Fraction(n * m, n + m), Fraction(a, n) - Fraction(b, m)) for a, n, b, m in strata if n and m]
    total = sum((weight for weight, _ in usable), Fraction(0))
    return sum((weight * each for weight, each in usable), Fraction(0)) / total if usable else None


def _blocks(sample: Sample) -> dict[str, Any]:
    counted = {"bothPassed": 0, "onlyTreatment": 0, "onlyControl": 0, "neither": 0}
    incomplete = []
    for block, members in sample.blocks.items():
        if not sample.compares or any(arm not in members for arm in sample.pair):
            incomplete.append(block)
            continue
        ours, theirs = (members[arm].outcome == "passed" for arm in sample.pair)
        counted[
            "bothPassed" if ours and theirs else "onlyTreatment" if ours else "onlyControl" if theirs else "neither"
        ] += 1
    return counted | {"incomplete": incomplete}


def _group(sample: Sample, category: str, categories: dict[str, str]) -> dict[str, Any]:
    tasks = [task for task in sample.tasks if categories.get(task) == category]
    rates = []
    for arm in sample.arms:
        counts = [sample.counts(METRIC, task, arm) for task in tasks]
        both = (sum(top for top, _ in counts), sum(bottom for _, bottom in counts))
        about = of("valid", METRIC, arm=arm, reason=category)
        rates.append(share(both, about, sample.repetitions * len(tasks)))
    return {"category": category, "tasks": tasks, "rates": rates}


# --- kept apart from success, and reliability -------------------------------------------------------------------------
def rates(sample: Sample) -> list[dict[str, Any]]:
    """Rates of runs that are kept apart from success, by arm: each with the runs that it says something of."""
    return [{"arm": arm} | _kept_apart(sample, arm) for arm in sample.arms]


def _kept_apart(sample: Sample, arm: str) -> dict[str, Num]:
    begun, valid = [row for row in sample.of(None, arm) if row.begun], sample.valid(None, arm)
    judgeable, planned = [row for row in begun if _judged(row)], sample.scheduled(None, arm)

    def rate(name: str, among: str, holds: list[bool | None]) -> Num:
        told = [each for each in holds if each is not None]
        return share((sum(told), len(told)), of(among, name, arm=arm), planned)

    return {
        "harnessReliability": rate("harness_reliability", "begun", [_judged(row) for row in begun]),
        "policyCompliance": rate(
            "policy_compliance", "judgeable", [cause(row) != "policy_violation" for row in judgeable]
        ),
        "recovery": rate("recovery_rate", "valid", [recovered(row.values) for row in valid]),
        "effectIntegrity": rate("effect_integrity", "valid", [_single(row) for row in valid]),
        "cleanEnd": rate("clean_end", "valid", [_clean(row) for row in valid]),
        "traceComplete": rate("trace_complete", "valid", [not trace_gaps(row.record) for row in valid]),
        "eligible": rate("eligible", "judgeable", [_eligible(row) for row in judgeable]),
    }


def _judged(row: Row) -> bool:
    return row.valid or cause(row) == "policy_violation"


def _single(row: Row) -> bool | None:
    """No effect's receipt came twice; None where there are none."""
    twice = row.values["duplicate_effects"].number
    return None if twice is None else twice == 0


def _clean(row: Row) -> bool | None:
    """Nothing ran or listened at the end; None where nobody looked."""
    left = [row.values[name].number for name in ("leftover_processes", "leftover_ports")]
    return None if None in left else not any(left)


def _eligible(row: Row) -> bool:
    duplicates = row.values["duplicate_effects"]
    single = duplicates.number == 0 or duplicates.state == "not_applicable"
    ours = row.outcome == "passed" and cause(row) != "policy_violation"
    return ours and single and not trace_gaps(row.record)


def reliability(sample: Sample) -> list[dict[str, Any]]:
    """pass@k and pass^k by task and over tasks."""
    return [_of_arm(sample, arm) for arm in sample.arms]


def _of_arm(sample: Sample, arm: str) -> dict[str, Any]:
    tasks = {task: sample.counts(METRIC, task, arm) for task in sample.tasks}
    curves = [
        {"task": task, "points": [_point(c, n, task, arm, k) for k in range(1, min(n, K_MAX) + 1)]}
        for task, (c, n) in tasks.items()
    ]
    most = min(sample.repetitions, K_MAX)
    return {"arm": arm, "suite": [_suite(sample, tasks, arm, k) for k in range(1, most + 1)], "tasks": curves}


def _at_k(n: int, c: int, k: int) -> Fraction:
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


def _hat_k(n: int, c: int, k: int) -> Fraction:
    return Fraction(math.comb(c, k), math.comb(n, k))


def _point(c: int, n: int, task: str, arm: str, k: int) -> dict[str, Any]:
    about, count = of("valid", METRIC, task=task, arm=arm, k=k), {"n": n}
    return {
        "k": k,
        "passAtK": Num("pass_at_k", about, _at_k(n, c, k), counts=count),
        "passHatK": Num("pass_hat_k", about, _hat_k(n, c, k), counts=count),
    }


def _suite(sample: Sample, tasks: dict[str, Counts], arm: str, k: int) -> dict[str, Any]:
    about = of("tasks", METRIC, arm=arm, k=k)
    enough = [(n, c) for c, n in tasks.values() if n >= k]
    # runs without a judgement as failures: as many as entries of the schedule that no valid run stands for
    flipped = [(max(n, sample.repetitions), c) for c, n in tasks.values() if max(n, sample.repetitions) >= k]
    made: dict[str, Any] = {"k": k, "notEvaluable": [task for task, (_, n) in tasks.items() if n < k]}
    for name, key, estimate in (("pass_at_k", "passAtK", _at_k), ("pass_hat_k", "passHatK", _hat_k)):
        made[key] = Num(name, about, _mean([estimate(n, c, k) for n, c in enough]), counts={"n": len(enough)})
        pessimist = _mean([estimate(n, c, k) for n, c in flipped])
        made[f"{key}UnjudgedFail"] = Num(f"{name}_unjudged_fail", about, pessimist, counts={"n": len(tasks)})
    return made


def _mean(values: list[Fraction]) -> Fraction | None:
    return sum(values, Fraction(0)) / len(values) if values else None
