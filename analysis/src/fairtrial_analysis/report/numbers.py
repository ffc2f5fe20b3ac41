"""From statistics to numbers of the report: exact ones keep their fraction, others 12 significant digits. Pure."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

from fairtrial_analysis.report.values import INTERVALS, METHODS, Exact, Interval, Number, Of, Real, State, Summary
from fairtrial_analysis.stats import interval as stats_interval
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.location.order_statistic import median_interval
from fairtrial_analysis.stats.location.summary import summary
from fairtrial_analysis.stats.proportions.clopper_pearson import clopper_pearson
from fairtrial_analysis.stats.proportions.wilson import wilson
from fairtrial_analysis.stats.render import rounded
from fairtrial_analysis.stats.value import Value, sample

SAFE = 2**53 - 1  # the largest integer up to which a double holds every one
NO_PAIR = "no_treatment_and_control"
EXACT_BITS = 14_000  # Python writes and reads integers of 4,300 digits; of 20,000 runs no fraction here is as long
Observed = Real | Fraction


def real(value: Observed) -> Real:
    """As a JSON number: an integer that every reader holds, or a double of 12 significant digits."""
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    if isinstance(value, int) and abs(value) <= SAFE:
        return value
    return rounded(float(value))


def text(value: Observed) -> str | None:
    """The number as a fraction or an integer, where its JSON number does not hold it exactly."""
    if isinstance(value, float) or (isinstance(value, int) and abs(value) <= SAFE):
        return None
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact.numerator) <= SAFE:
        return None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > EXACT_BITS:
        return None
    return str(exact)


def exact(value: Observed | None) -> Exact | None:
    """A number of a summary; None stays None."""
    return None if value is None else Exact(real(value), text(value))


def plain(value: Observed) -> Real | str:
    """A run's own value: a JSON number if that is exact, or text."""
    return text(value) or real(value)


def number(  # noqa: PLR0913 - keywords are the fields of a number
    value: Observed | None,
    method: str,
    of: Of,
    *,
    reason: str = "",
    state: State = "missing",
    unit: str | None = None,
    n: int | None = None,
    interval: Interval | None = None,
    runs: list[str] | None = None,
) -> Number:
    """A number, or with its reason none; `state` is what there is then."""
    assert method in METHODS, method
    if value is None:
        return Number(state, method, of, unit=unit, n=n, interval=interval, reason=reason or "no_values", runs=runs)
    return Number("measured", method, of, real(value), text(value), unit, n, interval=interval, runs=runs)


def none(method: str, of: Of, reason: str = NO_PAIR) -> Number:
    """There is no such number here."""
    return number(None, method, of, reason=reason, state="not_applicable")


def count(value: int, of: Of, unit: str = "runs") -> Number:
    """How many there are."""
    return number(value, "count", of, unit=unit)


def share(
    top: int,
    bottom: int,
    of: Of,
    *,
    scheduled: int | None = None,
    empty: str = "no_valid_runs",
    conventions: Conventions = CONVENTIONS,
    state: State = "missing",
) -> Number:
    """A rate with Wilson's interval; with Clopper and Pearson's beside it where nothing or all succeeded."""
    found = of_interval(wilson(top, bottom, conventions))
    audit = of_interval(clopper_pearson(top, bottom, conventions)) if bottom and top in (0, bottom) else None
    value = Fraction(top, bottom) if bottom else None
    return Number(
        "measured" if bottom else state,
        "share",
        of,
        None if value is None else real(value),
        None if value is None else text(value),
        n=bottom,
        numerator=top,
        denominator=bottom,
        scheduled=scheduled,
        interval=found if bottom else None,
        audit=audit,
        reason=None if bottom else empty,
    )


def of_interval(found: stats_interval.Interval, method: str = "") -> Interval:
    """An interval of a statistic as the report has it."""
    name = method or found.method
    assert name in INTERVALS, name
    about: Literal["these_tasks", "task_population"] | None = found.about or None
    return Interval(
        name,
        found.confidence,
        None if found.low is None else real(found.low),
        None if found.high is None else real(found.high),
        about,
        None if found.coverage is None else text(found.coverage),
        True if found.degenerate else None,
        True if found.unbounded else None,
        found.reason or None,
    )


def summarised(values: Iterable[Value], of: Of, unit: str, conventions: Conventions = CONVENTIONS) -> Summary:
    """Five numbers of a sample; what is missing is counted, and says why where there is nothing else."""
    seen = sample(values)
    five = summary(seen, conventions)
    state: State = "measured"
    reason = None
    if not seen.n:
        state = "not_applicable" if seen.not_applicable and not seen.missing + seen.void else "missing"
        reason = seen.reasons[0][0] if len(seen.reasons) == 1 else "several_reasons" if seen.reasons else "no_runs"
    interval = of_interval(median_interval(seen.numbers, conventions)) if seen.n else None
    return Summary(
        state, of, seen.n, seen.missing, seen.not_applicable, seen.void, unit, exact(five.minimum), exact(five.q1),
        exact(five.median), exact(five.q3), exact(five.maximum), exact(five.mean),
        None if five.deviation is None else rounded(five.deviation), interval, reason=reason,
    )  # fmt: skip


def measured_values(values: Sequence[Value]) -> list[int | Fraction]:
    """Those that there are."""
    return [each.value for each in values if each.value is not None]
