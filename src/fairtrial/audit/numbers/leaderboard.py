"""What the report must say of ranks: every pair of candidates over the tasks that all have, adjusted for all pairs.

A candidate without a valid run has no rank, and keeps its pairs' places in the family. A pair whose flips are too many
to be counted is not told apart.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairtrial.audit.numbers.distributions import counted_flip
from fairtrial.audit.numbers.expect import Ends, Num, of
from fairtrial.audit.numbers.intervals import share_difference_t
from fairtrial.audit.numbers.sample import Sample
from fairtrial.audit.numbers.success import METRIC, share

JsonObject = dict[str, Any]
ALPHA = Fraction(5, 100)


def leaderboard(sample: Sample) -> JsonObject:
    """The whole section."""
    arms = list(sample.arms)
    ranked = [arm for arm in arms if sample.valid(None, arm)]
    tasks = [task for task in sample.tasks if ranked and all(sample.valid(task, arm) for arm in ranked)]
    ranked = ranked if tasks else []
    rates = {arm: [sample.value_in(METRIC, task, arm) or Fraction(0) for task in tasks] for arm in ranked}
    couples = [(one, other) for at, one in enumerate(arms) for other in arms[at + 1 :]]
    steps = {
        (one, other): [a - b for a, b in zip(rates[one], rates[other], strict=True)]
        for one, other in couples
        if one in rates and other in rates
    }
    p = {pair: found for pair, each in steps.items() if (found := counted_flip(each)) is not None}
    adjusted = _adjusted(p, len(couples))
    totals = {pair: sum(each, Fraction(0)) for pair, each in steps.items()}
    won = {  # (better, worse)
        pair if totals[pair] > 0 else (pair[1], pair[0])
        for pair, chance in adjusted.items()
        if chance <= ALPHA and totals[pair]
    }
    return {
        "standings": _standings(sample, rates, won),
        "pairs": [_pair(pair, steps.get(pair, []), p.get(pair), adjusted.get(pair), won) for pair in couples],
        "tasks": tasks,
        "leftOut": [task for task in sample.tasks if task not in tasks],
        "smallest": _smallest(sample, len(couples)),
    }


def _adjusted(p: Mapping[tuple[str, str], Fraction], family: int) -> dict[tuple[str, str], Fraction]:
    """Holm: the smallest times the whole family, the next times one less, none below what came before it."""
    made: dict[tuple[str, str], Fraction] = {}
    least = Fraction(0)
    for times, (pair, chance) in zip(range(family, 0, -1), sorted(p.items(), key=lambda one: one[1]), strict=False):
        least = made[pair] = max(least, min(times * chance, Fraction(1)))
    return made


def _standings(sample: Sample, rates: Mapping[str, list[Fraction]], won: set[tuple[str, str]]) -> list[JsonObject]:
    """By rank; equals, and those without a rank at the end, in the order of the arms."""
    sums = {arm: sum(each, Fraction(0)) for arm, each in rates.items()}
    places = {arm: 1 + sum(other > mine for other in sums.values()) for arm, mine in sums.items()}
    made = []
    for arm in sorted(sample.arms, key=lambda arm: places.get(arm, len(sample.arms) + 1)):
        about, among = of("tasks", METRIC, arm=arm), list(rates.get(arm, ()))
        score, ends, tied = None, None, list[str]()
        if arm in rates:
            score = sums[arm] / len(among)
            ends = Ends(
                "pairwise_holm",
                1 + sum(worse == arm for _, worse in won),
                len(rates) - sum(better == arm for better, _ in won),
            )
            tied = [one for one in rates if one != arm and not {(one, arm), (arm, one)} & won]
        made.append(
            {
                "arm": arm,
                "rate": share(
                    sample.counts(METRIC, None, arm), of("valid", METRIC, arm=arm), sample.scheduled(None, arm)
                ),
                "score": Num("mean_of_task_shares", about, score, counts={"n": _common(rates)}),
                "rank": Num("competition_rank", about, places.get(arm), ends, counts={"n": len(rates)}),
                "tiedWith": tied,
            }
        )
    return made


def _common(rates: Mapping[str, list[Fraction]]) -> int:
    return max(map(len, rates.values()), default=0)


def _pair(
    pair: tuple[str, str],
    differences: list[Fraction],
    p: Fraction | None,
    adjusted: Fraction | None,
    won: set[tuple[str, str]],
) -> JsonObject:
    about, count = of("tasks", METRIC, arm=pair[0], against=pair[1]), {"n": len(differences)}
    mean = sum(differences, Fraction(0)) / len(differences) if differences else None
    student = share_difference_t(differences)
    ends = Ends("task_t", *student) if student else None
    return {
        "arm": pair[0],
        "against": pair[1],
        "difference": Num("mean_of_task_differences", about, mean, ends, counts=count),
        "p": Num("sign_flip", about, p, counts=count),
        "adjusted": Num("holm", about, adjusted, counts=count),
        "apart": pair in won or pair[::-1] in won,
    }


def _smallest(sample: Sample, pairs: int) -> Num:
    """So many tasks must differ by one run, all in one direction, that one pair alone passes the strictest step."""
    about, tasks = of("scheduled", METRIC), len(sample.tasks)
    for differing in range(1, tasks + 1 if pairs else 1):
        if Fraction(1, 2 ** (differing - 1)) <= ALPHA / pairs:
            return Num(
                "smallest_resolvable", about, Fraction(differing, tasks * sample.repetitions), counts={"n": tasks}
            )
    return Num("smallest_resolvable", about, None)
