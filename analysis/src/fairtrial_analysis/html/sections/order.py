"""Order, drift and circumstances: who ran when and first, on which machine, with what."""

from collections import Counter
from collections.abc import Mapping

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, name_of, tag
from fairtrial_analysis.html.plots import timeline as plot
from fairtrial_analysis.html.section import Section, figure, paragraph, section
from fairtrial_analysis.html.sections.amount import Metric
from fairtrial_analysis.html.tables import Column, Listed, folded, lines, table
from fairtrial_analysis.report.accounts import Order, PlaceInBlock
from fairtrial_analysis.report.model import Run

_LANES = {"passed": 0, "failed": 1}
_PARTS = 10


def order(lookup: Lookup) -> Section:
    """The section."""
    begun = [run for run in lookup.report.runs if run.outcome != "not_run"]
    moments = tuple(_moment(lookup, run) for run in begun)
    return section(
        "order",
        "Order, drift and circumstances",
        figure(
            plot.drawing(moments, lookup.arms, "timeline-figure"),
            "Runs in the order of the schedule",
            "Full marker: passed. Hollow: failed, or no judgement. A tick per run shows which model answered and which "
            "machine it ran on; a step in the middle is drift.",
            _tenths(lookup, begun),
        )
        if moments
        else paragraph("No run was begun."),
        _places(lookup, lookup.report.order),
        _covariates(lookup),
        _comparability(lookup),
    )


def _moment(lookup: Lookup, run: Run) -> plot.Moment:
    return plot.Moment(run.index, lookup.arm(run.arm), _LANES.get(run.outcome, 2), tuple(run.models), run.node)


def _tenths(lookup: Lookup, begun: list[Run]) -> Element:
    """The same in ten parts of the schedule. Single runs stand in the appendix, with their place."""
    last = max(run.index for run in begun)
    parts = [[run for run in begun if (run.index - 1) * _PARTS // max(last, 1) == part] for part in range(_PARTS)]
    columns = [
        Column("Places in the schedule", "head"),
        *(Column(tag("span", lookup.key(arm.name), " passed/valid"), "number") for arm in lookup.arms),
        Column("No judgement", "number"), Column("Models", "mid"), Column("Machines", "number"),
    ]  # fmt: skip
    rows: list[Listed] = [_part(lookup, part) for part in parts if part]
    where = tag("a", "the appendix" if lookup.listed else "runs.csv", href="#runs" if lookup.listed else "runs.csv")
    words = tag("span", "Each run, with its place, model and machine: ", where, ".")
    return table("timeline-table", "The schedule in ten parts", columns, rows, note=words)


def _part(lookup: Lookup, runs: list[Run]) -> list[Element | str]:
    valid = [run for run in runs if run.outcome in _LANES]
    return [
        f"{min(run.index for run in runs)} to {max(run.index for run in runs)}",
        *(_passed(lookup, arm.name, [run for run in valid if run.arm == arm.name]) for arm in lookup.arms),
        tag("a", str(len(runs) - len(valid)), href="#lost", class_="ev") if len(runs) > len(valid) else "0",
        lines(name_of(model) for model in sorted({model for run in runs for model in run.models})),
        str(len({run.node for run in runs if run.node})),
    ]


def _passed(lookup: Lookup, arm: str, valid: list[Run]) -> Element | str:
    return lookup.share(sum(run.outcome == "passed" for run in valid), len(valid), arm)


def _places(lookup: Lookup, order: Order | None) -> Element | None:
    if order is None:
        return None
    metrics = list(dict.fromkeys(each.of.metric or "" for place in order.places for each in place.amounts))
    shown = {each.metric: Metric(each) for each in lookup.report.amounts}
    columns = [
        Column("Candidate", "head"), Column("In its block"), Column("Passed of valid", "number"),
        *(Column(shown[metric].labelled(f"{shown[metric].title}, median (n)"), "number") for metric in metrics),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            lookup.key(each.arm),
            each.place,
            cells.share(lookup, each.rate),
            *(_median(each, shown[metric]) for metric in metrics),
        ]
        for each in order.places
    ]
    words = (
        f"{order.complete} of {order.blocks} blocks are complete; the treatment came first in {order.treatment_first} "
        f"of them, the control in {order.control_first}. Medians are of successful runs."
    )
    return table("places", "Whether coming first mattered", columns, rows, note=words)


def _median(place: PlaceInBlock, shown: Metric) -> str:
    found = next((each for each in place.amounts if each.of.metric == shown.name), None)
    if found is None or found.median is None:
        return numbers.NO_VALUE
    return f"{shown.unit(found.median.value)} ({found.n})"


def _covariates(lookup: Lookup) -> Element:
    """A line per value, a column per candidate; what is the same everywhere is folded."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for each in lookup.report.covariates:
        for value in each.values:
            counts.setdefault(each.name, {}).setdefault(value.name, Counter())[each.arm] += value.count
    several = [name for name, values in counts.items() if len(values) > 1]
    same = [name for name in counts if name not in several]
    found = _circumstances(lookup, "covariates", counts, several)
    if not same:
        return found
    rest = _circumstances(lookup, "covariates-same", counts, same)
    return tag("div", found, folded(f"{len(same)} that were the same in every valid run", rest))


def _circumstances(
    lookup: Lookup, name: str, counts: Mapping[str, Mapping[str, Counter[str]]], names: list[str]
) -> Element:
    columns = [
        Column("Circumstance", "head"), Column("Value", "wide"),
        *(Column(lookup.key(arm.name), "number") for arm in lookup.arms),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            _spaced(each),
            tag("span", value, class_="digest"),
            *(lookup.count(by_arm[arm.name], arm.name) for arm in lookup.arms),
        ]
        for each in names
        for value, by_arm in counts[each].items()
    ]
    words = "Valid runs by value. What differs between candidates here may explain what differs in their results."
    return table(name, "Circumstances by candidate", columns, rows, note=words)


def _spaced(name: str) -> str:
    """agentImage as agent image."""
    return "".join(f" {each.lower()}" if each.isupper() else each for each in numbers.plain(name))


def _comparability(lookup: Lookup) -> Element:
    columns = [Column("Block", "head"), Column("What differs"), Column("Value", "wide"), Column("Runs", "mid")]
    rows: list[Listed] = [
        [
            name_of(each.where),
            numbers.plain(each.what),
            tag("span", value.name, class_="digest"),
            lookup.named(value.runs),
        ]
        for each in lookup.report.comparability
        for value in each.values
    ]
    return table("comparability", "Runs of one block that differ in what must be equal", columns, rows)
