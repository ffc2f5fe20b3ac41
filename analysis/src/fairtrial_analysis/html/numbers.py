"""How numbers are printed: enough digits and no more, a true minus, and a reason where there is no number. Pure.

Nothing printed is ever compared or computed with. The exact values are in report.json.
"""

from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.report.values import Interval, Number, Real

MINUS = "\N{MINUS SIGN}"
NO_VALUE = "\N{EN DASH}"
GAP = "\N{NARROW NO-BREAK SPACE}"
_GROUPED, _SECONDS = 10_000, 10_000


@dataclass(frozen=True)
class Unit:
    """A unit as it is printed, and how much of the report's own unit it is."""

    label: str
    size: Fraction = Fraction(1)

    def __call__(self, value: Real) -> str:
        """A value of the report in this unit, without its label."""
        return amount(value / float(self.size) if self.size != 1 else value)


def unit_of(unit: str | None, typical: Real | None) -> Unit:
    """Milliseconds and bytes are printed in seconds and MiB where they are many; everything else as it is."""
    if unit == "ms" and typical is not None and typical >= _SECONDS:
        return Unit("s", Fraction(1000))
    if unit == "bytes" and typical is not None and typical >= 2**20:
        return Unit("MiB", Fraction(2**20))
    return Unit({"count": "", None: ""}.get(unit, unit or ""))


def integer(value: int) -> str:
    """12345 as 12 345; four digits stay together."""
    text = f"{abs(value):,}".replace(",", GAP) if abs(value) >= _GROUPED else str(abs(value))
    return f"{MINUS}{text}" if value < 0 else text


def amount(value: Real) -> str:
    """A quantity: whole from a thousand on, else three significant digits or more."""
    if isinstance(value, int) or abs(value) >= 1000 or value == int(value):  # noqa: PLR2004 - the sentence above
        return integer(round(value))
    size = abs(value)
    digits = next((digits for least, digits in ((100, 1), (10, 2), (1, 2), (0.1, 3), (0.001, 4)) if size >= least), 0)
    return _signed(f"{value:.{digits}f}" if digits else f"{value:.2e}")


def percent(value: Real, digits: int = 1) -> str:
    """A share."""
    return _signed(f"{value * 100:.{digits}f}") + f"{GAP}%"


def points(value: Real) -> str:
    """A difference of shares, in percentage points, with its sign."""
    text = _signed(f"{value * 100:.1f}")
    return text if text.startswith(MINUS) or text == "0.0" else f"+{text}"


def ratio(value: Real) -> str:
    """A ratio: three significant digits."""
    return _signed(f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}")  # noqa: PLR2004 - three digits


def probability(value: Real) -> str:
    """A p-value: never printed as zero."""
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"  # noqa: PLR2004 - four digits


def counted(count: int, one: str, many: str | None = None) -> str:
    """1 block, 2 blocks."""
    return f"{integer(count)} {one if count == 1 else many or one + 's'}"


def metric(name: str) -> str:
    """A metric in words, without the unit that ends its name."""
    return plain(next((name.removesuffix(end) for end in ("_ms", "_us") if name.endswith(end)), name))


def plain(code: str) -> str:
    """A reason code in words."""
    return code.replace("_", " ")


def absent(number: Number) -> str:
    """Why there is no number."""
    state = {"missing": "missing", "not_applicable": "n/a", "void": "void"}.get(number.state, "n/a")
    return f"{state}: {plain(number.reason)}" if number.reason else state


def between(interval: Interval | None, written: object) -> str:
    """`[low, high]`, an open end as ∞, or a dash and the reason; `written` prints one end."""
    if interval is None:
        return NO_VALUE
    if interval.low is None and interval.high is None:
        return f"{NO_VALUE} ({plain(interval.reason)})" if interval.reason else NO_VALUE
    assert callable(written)
    low = f"{MINUS}∞" if interval.low is None else written(interval.low)
    high = "∞" if interval.high is None else written(interval.high)
    return f"{'(' if interval.low is None else '['}{low}, {high}{')' if interval.high is None else ']'}"


def _signed(text: str) -> str:
    if text.startswith("-"):
        return f"{MINUS}{text[1:]}" if text.strip("-0.") else text[1:]
    return text
