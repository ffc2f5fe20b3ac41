"""What lets a verification of thousands of runs end: nothing is gone through once more for each run or each rank."""

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from fairtrial_analysis.report import numbers
from fairtrial_analysis.report import success as analysed
from fairtrial_analysis.stats.location.order_statistic import median_interval

from fairtrial import documents
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Entry, Ledger, _place
from fairtrial.audit.numbers import sample, success
from fairtrial.audit.numbers.expect import Ends, Num, exactly, five, mean, problems, spread
from fairtrial.audit.numbers.intervals import LEVEL, order_statistics
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.preregistration import Plan, Slot

AT, PAGE = "2026-01-01T00:00:00Z", "data/ledger/00000001.json"


class Walked(dict[str, int]):
    """Sizes of files that count how often all of them were gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_files_are_gone_through_once_however_many_runs_ask_for_theirs():
    files = Walked({f"data/runs/run-{number:03}/{name}": 1 for number in range(99, -1, -1) for name in ("b", "a")})
    folder = Folder(Path("nowhere"), Findings(), files)

    found = [list(folder.below(f"data/runs/run-{number:03}/")) for number in range(100)]

    assert found[7] == ["data/runs/run-007/a", "data/runs/run-007/b"]
    assert sum(map(len, found)) == len(files)
    assert list(folder.below("data/runs/run-1")) == []
    assert files.times == 1


@pytest.mark.parametrize("n", [*range(1, 40), 99, 100])
def test_the_pair_of_ranks_is_the_narrowest_that_covers_enough(n: int):
    def covers(rank: int) -> Fraction:
        return Fraction(sum(math.comb(n, below) for below in range(rank, n + 1 - rank)), 2**n)

    rank = max((rank for rank in range(1, n // 2 + 1) if covers(rank) >= LEVEL), default=1)

    assert order_statistics([Fraction(each) for each in range(n, 0, -1)]) == (rank, n + 1 - rank, covers(rank))


def test_the_pair_of_ranks_of_ten_thousand_values_is_that_of_the_analysis():
    values = [Fraction(each) for each in range(10_000)]
    told = median_interval(values)

    assert order_statistics(values) == (told.low, told.high, told.coverage)


@pytest.mark.parametrize(
    "values", [[Fraction(7, 3)], [Fraction(1, 3), Fraction(-2), Fraction(5, 7), Fraction(1, 3)], [Fraction(2)] * 6]
)
def test_a_summary_in_integers_is_that_of_the_fractions(values: list[Fraction]):
    center = sum(values) / len(values)
    squares = sum(((each - center) ** 2 for each in values), Fraction(0))
    quarters = {"q1": 1, "median": 2, "q3": 3}

    assert mean(values) == center
    assert spread(values) == (math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None)
    assert five(values) == {
        "minimum": min(values), "maximum": max(values),
        **{name: sample.quantile(values, Fraction(part, 4)) for name, part in quarters.items()},
    }  # fmt: skip
    assert (mean([]), spread([]), five([])["median"]) == (None, None, None)


def superiority_of(runs: int) -> Fraction | float | int | None:
    """What the report must say of the probability of superiority, where all of so many runs passed."""
    rows = [Row(f"run-{n}", "uid", n, f"b{n // 2}", "task", "ab"[n % 2], 1, 1, 0, "passed") for n in range(runs)]
    made: Num = success._over_tasks(sample.Sample(tuple(rows), ("task",), ("a", "b"), runs // 2, "a", "b"))[
        "superiority"
    ]
    return made.value


def test_superiority_is_asked_for_up_to_as_many_runs_as_the_analysis_tells_it_of():
    most = analysed.SUPERIORITY_MAX

    assert (superiority_of(most), superiority_of(most + 2)) == (Fraction(1, 2), None)


def test_a_fraction_that_is_too_long_to_be_told_exactly_is_held_against_its_rounded_value():
    values = [Fraction(each) for each in range(20_000)]  # as many as a cohort may have, of one candidate
    long = Fraction(3**9464, 2**15000)  # about 1
    told = {"value": numbers.real(long)}
    interval = documents.to_json(numbers.of_interval(median_interval(values)))

    assert numbers.text(long) is None
    assert (exactly(told, long), exactly({"value": told["value"] * 1.1}, long)) == (True, False)
    assert "coverage" not in {key for key, held in interval.items() if held is not None}
    kept = {key: held for key, held in interval.items() if held is not None}
    assert list(problems(kept, Ends("median_order_statistics", *order_statistics(values)), "")) == []


def entries(runs: int, *, shuffled: bool) -> list[Entry]:
    """Tickets of so many runs, in the order of the schedule or the other way round."""
    numbers = range(runs, 0, -1) if shuffled else range(1, runs + 1)
    return [Entry("ticket", 2 + n, AT, PAGE, {"run": f"run-{number:05}"}) for n, number in enumerate(numbers)]


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "in no order"])
def test_tickets_are_not_counted_anew_for_each_ticket(shuffled: bool):
    names = [f"run-{number:05}" for number in range(1, 201)]
    slots = tuple(Slot(n, name, "", "", "", 1, "", "", "", "", "", "") for n, name in enumerate(names, start=1))
    plan = Plan({}, "", "", "", "", slots, (), 0)
    ledger, findings = Ledger(tickets=Walked()), Findings()  # type: ignore[arg-type]
    ledger.once["sealed"] = Entry("sealed", 1, AT, PAGE, {})

    for entry in entries(200, shuffled=shuffled):
        _place(ledger, entry, plan, findings)

    assert ledger.begun == 200
    assert isinstance(ledger.tickets, Walked)
    assert ledger.tickets.times == 0
    assert plan.by_run is plan.by_run
    assert findings.codes == ({"LEDGER_ORDER"} if shuffled else set())


def test_a_run_that_takes_anothers_place_is_no_scheduled_one_whenever_that_is_granted():
    slots = tuple(Slot(n, f"run-{n}", "", "", "", 1, "", "", "", "", "", "") for n in (1, 2))
    ledger, plan, findings = Ledger(), Plan({}, "", "", "", "", slots, (), 0), Findings()
    ledger.once["sealed"] = Entry("sealed", 1, AT, PAGE, {})
    ledger.records["run-1"] = Entry("record", 3, AT, PAGE, {"outcome": "invalid"})
    told: list[tuple[str, dict[str, str]]] = [
        ("ticket", {"run": "run-1"}),
        ("ticket", {"run": "run-1-r1"}),
        ("replacement", {"run": "run-1", "by": "run-1-r1"}),
        ("ticket", {"run": "run-2"}),
    ]

    for number, (kind, said) in enumerate(told, start=2):
        _place(ledger, Entry(kind, number, AT, PAGE, said), plan, findings)

    assert ledger.begun == 2
    assert findings.codes == set()
