"""Statistics without any library: against published values, and against numpy's generator."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.audit import replacing, schedule
from fairtrial.audit.numbers import bootstrap, distributions, intervals
from fairtrial.audit.numbers.pcg64 import Generator
from fairtrial.audit.numbers.rule import geometric_mean
from fairtrial.audit.numbers.sample import median, quantile
from fairtrial.cohort.replacement import OUTSIDE
from fairtrial.cohort.schedule import make_schedule
from fairtrial.documents import to_json

F = Fraction
DIFFERENCES = [F(each) for each in (-10, -20, -15, -5, -30, 2, -12, -8, 4, -20)]
TASKS = [F(each, 10) for each in (2, 0, 4, -2, 2, 6, 0, 2, 2, 4)]
TREATMENT = (41, 39, 52, 47, 40, 45, 38, 50, 44, 43)
CONTROL = (50, 47, 58, 55, 52, 49, 51, 57, 53, 48)
RATIOS = [F(a, b) for a, b in zip(TREATMENT, CONTROL, strict=True)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (intervals.wilson(0, 5), (0, 0.4344824647831748)),
        (intervals.wilson(5, 5), (0.5655175352168252, 1)),
        (intervals.wilson(0, 0), None),
        (intervals.clopper_pearson(0, 5), (0, 0.5218237501049815)),
        (intervals.newcombe(37, 50, 29, 50), (-0.02522381384132508, 0.33091052654912495)),
        (intervals.newcombe(40, 50, 40, 50), (-0.1570471409718394, 0.1570471409718394)),
        (intervals.newcombe(0, 0, 3, 5), None),
        (intervals.task_t(TASKS), (0.0347953991084716, 0.3652046008915284)),
        (intervals.task_t(TASKS[:1]), None),
        (intervals.log_ratio_t(RATIOS), (0.8020559841142971, 0.8838339417872013)),
        (intervals.order_statistics([F(each) for each in (1, 2, 3, 4, 10)]), (1, 10, 0.9375)),
        ((geometric_mean(RATIOS),), (0.8419526720509605,)),
        ((float(distributions.superiority(37, 50, 29, 50)),), (0.952726339729725,)),
        ((float(distributions.fisher_two_sided((9, 1), (59, 51))),), (0.019104411130983455,)),
        ((float(distributions.counted_flip(DIFFERENCES)),), (0.009765625,)),
        ((median([F(1), F(5), F(9)]) or 0, median([F(1), F(2)]) or 0), (5, 1.5)),
        (median([]), None),
        ((quantile([F(each) for each in (1, 2, 3, 4, 10)], F(95, 100)),), (8.8,)),
        (bootstrap.ratio_of_medians([F(x) for x in (10, 12, 13, 17, 40)], [F(x) for x in (11, 15, 16, 20, 30)], 0, "m"),
         (0.43333333333333335, 2.5)),
    ],
)  # fmt: skip
def test_published_values_are_reproduced(found: tuple[float, ...] | None, expected: tuple[float, ...] | None):
    if found is None or expected is None:
        assert found is expected
        return
    assert [float(each) for each in found] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.integers(0, 2**200), st.lists(st.integers(1, 2**31), min_size=1, max_size=30))
def test_the_generator_is_numpys(seed: int, limits: list[int]):
    theirs, ours = np.random.Generator(np.random.PCG64(seed)), Generator(seed)

    for limit in limits:
        assert ours.below(limit) == int(theirs.integers(0, limit))


NAMES = st.lists(st.text("abcxyz-0123456789", min_size=1, max_size=63), min_size=1, max_size=5, unique=True)


@given(st.text("abc-", min_size=1, max_size=63), st.integers(0, 2**53), NAMES, NAMES, st.integers(1, 4))
def test_the_schedule_follows_from_its_seed(
    cohort: str, seed: int, tasks: list[str], candidates: list[str], repetitions: int
):
    made = make_schedule(cohort, seed, tasks, candidates, repetitions)

    assert schedule.expected(cohort, seed, tasks, candidates, repetitions) == to_json(made)


def test_the_policy_of_replacement_knows_the_same_reasons():
    assert set(OUTSIDE) == replacing.OUTSIDE
