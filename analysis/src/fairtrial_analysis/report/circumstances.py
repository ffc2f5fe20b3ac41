"""Order, place and comparability: what else but the treatment might have made a difference. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.report.accounts import Comparability, Covariate, Order, PlaceInBlock
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.flow import counted
from fairtrial_analysis.report.numbers import share, summarised
from fairtrial_analysis.report.values import Counted, Of
from fairtrial_analysis.stats.flow.schedule_balance import schedule_balance

TEXT_MAX = 400  # of what a pod said of itself


def order(data: Data) -> Order | None:
    """The schedule's balance, and both arms by their place in the block; None without treatment and control."""
    if data.pair is None:
        return None
    schedule = data.loaded.plan.schedule
    entries = [(one.task, one.repetition, one.candidate) for one in schedule.entries if one.candidate in data.pair]
    found = schedule_balance(entries, *data.pair)
    first = _first(data, data.pair)
    places = []
    for arm in data.pair:
        for place, came_first in (("first", True), ("second", False)):
            rows = [row for row in data.valid(None, arm) if (first[row.block] == row.place) == came_first]
            places.append(_place(data, arm, place, rows))
    return Order(found.blocks, found.complete, found.treatment_first, found.control_first, places)


def _first(data: Data, pair: tuple[str, str]) -> dict[str, int]:
    """The place in each block at which the earlier of both arms was scheduled."""
    found: dict[str, int] = {}
    for row in data.rows:
        if row.arm in pair:
            found[row.block] = min(row.place, found.get(row.block, row.place))
    return found


def _place(data: Data, arm: str, place: str, rows: list[Row]) -> PlaceInBlock:
    where: Literal["first", "second"] = "first" if place == "first" else "second"
    passed = [row for row in rows if row.outcome == "passed"]
    rate = share(
        len(passed), len(rows), Of("valid", "success_rate", arm=arm, place=where), conventions=data.conventions
    )
    primary = [metric for metric in data.metrics if data.role(metric) == "primary"]
    shown = [
        summarised(
            data.values(passed, metric), Of("passed", metric, arm=arm, place=where), data.unit(metric), data.conventions
        )
        for metric in primary
    ]
    return PlaceInBlock(arm, place, rate, shown)


def covariates(data: Data) -> list[Covariate]:
    """Each circumstance by arm, over valid runs; the model that answered and kills for lack of memory among them."""
    valid = {arm: data.valid(None, arm) for arm in data.arms}
    names = sorted({name for rows in valid.values() for row in rows for name in row.circumstances})
    made = [
        Covariate(name, arm, _values((row.circumstances.get(name, ""), row.run) for row in rows))
        for name in names
        for arm, rows in valid.items()
    ]
    for name, told in (("model", _models), ("oomKills", _kills)):
        made += [Covariate(name, arm, _values((told(row), row.run) for row in rows)) for arm, rows in valid.items()]
    return made


def _values(named: Iterable[tuple[str, str]]) -> list[Counted]:
    return counted(((name[:TEXT_MAX], run) for name, run in named), with_runs=False)


def _models(row: Row) -> str:
    return ", ".join(row.models) or "none"


def _kills(row: Row) -> str:
    return "not recorded" if row.oom_kills is None else str(row.oom_kills)


def comparability(data: Data) -> list[Comparability]:
    """What differs within blocks and must be equal."""
    return [
        Comparability(
            one.where, one.what, counted((value[:TEXT_MAX], run) for run, value in sorted(one.values.items()))
        )
        for one in data.loaded.findings
    ]


def several_models(data: Data) -> list[str]:
    """Arms in whose valid runs more than one model answered: the model changed behind its name."""
    return [
        arm for arm in data.arms if len(Counter(model for row in data.valid(None, arm) for model in row.models)) > 1
    ]
