"""Money, construction cost with break-even, and the runtime experiment, each kept apart from the others. Pure."""

from collections.abc import Sequence
from fractions import Fraction

from fairtrial_analysis.report.accounts import (
    BreakEven,
    Construction,
    ConstructionPart,
    Money,
    Price,
    PricingSnapshot,
    Runtime,
    RuntimeMetric,
)
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.numbers import NO_PAIR, measured_values, none, number, summarised
from fairtrial_analysis.report.values import Number, Of, State
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.location.quantile import quantile
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.ratios.break_even import break_even
from fairtrial_analysis.stats.ratios.construction import construction
from fairtrial_analysis.stats.value import Value, measured
from fairtrial_analysis.stats.value import missing as missing_value

TOKENS = "tokens"
_PRICES = ("input", "cached_input", "cache_write", "output", "reasoning")


def money(data: Data) -> Money:
    """What all runs cost that were begun, by arm, and the prices behind it."""
    totals = []
    for arm in data.arms:
        of, values = Of("begun", "cost", arm=arm), data.values(data.begun(arm), "cost")
        lacking = [each for each in values if each.value is None]
        total = (
            None if lacking or not values else sum((Fraction(each) for each in measured_values(values)), Fraction(0))
        )
        reason = lacking[0].reason if lacking else "no_runs"
        totals.append(number(total, "sum", of, reason=reason, unit=data.currency, n=len(values) - len(lacking)))
    return Money(totals, _snapshots(data))


def _snapshots(data: Data) -> list[PricingSnapshot]:
    arms: dict[tuple[str, str], set[str]] = {}
    found = {}
    for row in data.rows:
        if row.prices is not None:
            key = (row.prices.pricing.snapshot, row.prices.model)
            arms.setdefault(key, set()).add(row.arm)
            found[key] = row.prices
    made = []
    for key, one in sorted(found.items()):
        pricing, prices = one.pricing, one.pricing.per_million_tokens
        shown = [Price(name, getattr(prices, name)) for name in _PRICES]
        used = [arm for arm in data.arms if arm in arms[key]]
        made.append(
            PricingSnapshot(
                pricing.snapshot, one.model, pricing.currency, pricing.effective_date, pricing.service_tier, shown, used
            )
        )
    return made


def construction_cost(data: Data) -> Construction:
    """Break-even in tokens and in money, or why there is none."""
    inputs = data.loaded.inputs
    sha256 = inputs.construction_sha256 or None
    if inputs.construction is None:
        return Construction("missing", inputs.construction_reason, sha256, [])
    units = sorted({unit for session in inputs.construction for unit in session.spent})
    return Construction("measured", None, sha256, [_unit(data, unit) for unit in units])


def _unit(data: Data, unit: str) -> BreakEven:
    inputs, of = data.loaded.inputs, Of("sessions", unit)
    found = construction(inputs.construction or (), unit, inputs.construction_main)

    def told(value: Value, reason: str) -> Number:
        return number(value.value, "sum", Of("sessions", unit, reason=reason), reason=value.reason, unit=unit)

    medians = _medians(data, unit)
    ours, theirs = (told_median for told_median, _ in medians)
    main = break_even(found.main, medians[1][1], medians[0][1], unit)
    inclusive = break_even(found.inclusive, medians[1][1], medians[0][1], unit)
    return BreakEven(
        unit,
        [ConstructionPart(part, told(value, part)) for part, value in found.parts],
        told(found.main, "main"),
        told(found.inclusive, "inclusive"),
        theirs,
        ours,
        number(main.value, "break_even", of, reason=main.reason, state=_state(main.status), unit="tasks"),
        number(
            inclusive.value, "break_even", of, reason=inclusive.reason, state=_state(inclusive.status), unit="tasks"
        ),
        main.tasks_needed,
    )


def _state(status: str) -> State:
    return "not_applicable" if status == "no_break_even" else "missing"


def _medians(data: Data, unit: str) -> list[tuple[Number, Value]]:
    """Both arms' median among successes in a unit: accounted tokens, or cost in this currency."""
    metric = "accounted_tokens" if unit == TOKENS else "cost" if unit == data.currency else None
    made: list[tuple[Number, Value]] = []
    for place in range(2):
        if data.pair is None or metric is None:
            reason = NO_PAIR if data.pair is None else "no_metric_in_this_unit"
            made.append((none("five_numbers", Of("passed", metric), reason), missing_value(reason)))
            continue
        arm = data.pair[place]
        middle = median(measured_values(data.values(data.passed(None, arm), metric)))
        value = missing_value("no_success_with_it") if middle is None else measured(middle)
        of = Of("passed", metric, arm=arm)
        made.append((number(middle, "five_numbers", of, reason=value.reason, unit=unit), value))
    return made


def runtime(data: Data) -> Runtime:
    """The runtime experiment: its own samples, in its own section."""
    inputs = data.loaded.inputs
    if inputs.runtime is None:
        return Runtime("missing", inputs.runtime_reason, inputs.runtime_sha256 or None, [])
    made = [
        _runtime_metric(data, metric, arm, samples)
        for metric, arms in sorted(inputs.runtime.items())
        for arm, samples in sorted(arms.items())
    ]
    return Runtime("measured", None, inputs.runtime_sha256, made)


def _runtime_metric(data: Data, metric: str, arm: str, samples: Sequence[Value]) -> RuntimeMetric:
    of, unit = Of("samples", metric, arm=arm), METRICS[metric].unit
    tail = quantile(measured_values(samples), Fraction(95, 100), data.conventions)
    return RuntimeMetric(
        metric,
        unit,
        arm,
        summarised(samples, of, unit, data.conventions),
        number(tail.value, "quantile_95", of, reason=tail.reason, unit=unit, n=tail.n),
        tail.interpolation_only,
    )
