"""Every value of one metric, so that its figures can be drawn again: a line per task, a cell per candidate."""

from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, name_of, tag
from fairtrial_analysis.html.numbers import NO_VALUE, Unit
from fairtrial_analysis.html.tables import Column, Listed, folded, table
from fairtrial_analysis.report.model import Run
from fairtrial_analysis.report.values import Real

_FAILED, _FIRST = "\N{DAGGER}", "\N{SUPERSCRIPT ONE}"


def number_of(value: Real | str) -> Real:
    """A run's value; text is a fraction or an integer that no float holds exactly."""
    if not isinstance(value, str):
        return value
    top, _, bottom = value.partition("/")
    return int(top) / int(bottom) if bottom else int(top)


def values(lookup: Lookup, metric: str, title: str, printed: Unit) -> Element:
    """The folded table of all valid runs, in the order of their repetition."""
    columns = [Column("Task", "head"), *(Column(lookup.key(arm.name), "wide") for arm in lookup.arms)]
    rows: list[Listed] = [
        [name_of(task), *(_cell(lookup, task, arm.name, metric, printed) for arm in lookup.arms)]
        for task in sorted({task for task, _ in lookup.cells})
    ]
    words = f"Valid runs by repetition. {_FAILED} failed. {_FIRST} ran first in its block. {NO_VALUE} no value." + (
        f" Unit: {printed.label}." if printed.label else ""
    )
    found = table(identifier("values", metric.replace("_", "-")), f"{title}: every value", columns, rows, note=words)
    return folded(f"Data table: every value of {len(rows)} tasks", found)


def _cell(lookup: Lookup, task: str, arm: str, metric: str, printed: Unit) -> Element | str:
    runs = [run for run in lookup.cells.get((task, arm), []) if run.outcome in ("passed", "failed")]
    if not runs:
        return NO_VALUE
    runs.sort(key=lambda run: (run.repetition, run.index, run.run))
    words = ",  ".join(_value(run, metric, printed) for run in runs)
    return tag("a", words, href="#" + identifier("runs-of", task, arm), class_="ev")


def _value(run: Run, metric: str, printed: Unit) -> str:
    text = printed(number_of(run.values[metric])) if metric in run.values else NO_VALUE
    return text + (_FAILED if run.outcome == "failed" else "") + (_FIRST if run.place == 1 else "")
