"""What an exchange cost: counts times the prices of one versioned snapshot, in exact decimals. Pure.

Unavailable, with the reason, as soon as anything that it needs is unknown: a count, a price of what was used, or what
the prices do not tell apart. Never floating point; never a price of another day, model or tier.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, InvalidOperation

from fairtrial.errors import InvalidInput
from fairtrial.usage.counters import CONTRADICTORY, CUT, NO_FINAL, NOT_IN_WIRE, Counters, Usage

PER_MILLION = "per_million_tokens"
PRICES = ("input", "cached_input", "cache_write", "output", "reasoning")
_USUAL_TIERS = frozenset({"", "standard", "default", "auto"})  # what answers say where nothing special was bought
# 64-bit counts times prices of 24 digits need less; a result that would be rounded is an error.
_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
_DIGITS_MAX = 12


@dataclass(frozen=True)
class Snapshot:
    """A versioned snapshot of prices, as decimal text per million tokens. What is None is unknown, not free."""

    snapshot: str
    provider: str
    model: str
    currency: str
    effective_date: str
    service_tier: str = ""
    input: str | None = None
    cached_input: str | None = None
    cache_write: str | None = None
    output: str | None = None
    reasoning: str | None = None  # None: reasoning costs what output costs
    units: str = PER_MILLION

    def __post_init__(self) -> None:
        for name in PRICES:
            price = getattr(self, name)
            whole, _, fraction = ("0" if price is None else price).partition(".")
            digits = (whole, fraction or "0")
            if not all(each.isascii() and each.isdigit() and len(each) <= _DIGITS_MAX for each in digits):
                raise InvalidInput(
                    f"pricing snapshot {self.snapshot!r}: {name}: {price!r} is not a decimal number of at most "
                    f"{_DIGITS_MAX} digits on either side of the point.",
                    next_move='Write it as text, such as "0.25".',
                )
        if self.units != PER_MILLION:
            raise InvalidInput(
                f"pricing snapshot {self.snapshot!r}: units: {self.units!r} is not known.",
                next_move=f"Give prices as {PER_MILLION}.",
            )


@dataclass(frozen=True)
class Cost:
    """An amount as plain decimal text, or the reason why there is none; and the snapshot that made it."""

    amount: str | None = None
    reason: str = ""
    currency: str = ""
    snapshot: str = ""
    parts: dict[str, str] = field(default_factory=dict)  # price's name → its share


def cost(usage: Usage, prices: Snapshot | None, model: str) -> Cost:
    """The cost of one exchange that `model` answered. Where usage does not apply, nothing was charged."""
    if prices is None:
        return Cost(reason="no_pricing_snapshot")
    if usage.state == "not_applicable":
        return Cost("0", "", prices.currency, prices.snapshot)
    lines = list(_lines(usage.counters, prices))
    unknown = usage.reason if usage.reason in {CUT, NO_FINAL} or usage.state == "absent" else ""
    lacks = [unknown, _misfit(usage, prices, model), *map(_lack, lines)]
    if reason := next(filter(None, lacks), ""):
        return Cost(reason=reason, currency=prices.currency, snapshot=prices.snapshot)
    parts = {line.name: _amount(line) for line in lines if line.count}
    shares = {name: plain(part) for name, part in parts.items()}
    return Cost(plain(_sum(parts.values())), "", prices.currency, prices.snapshot, shares)


def at_least(counters: Counters, prices: Snapshot) -> str:
    """A lower bound from whatever is known, for budgets and never for results."""
    return plain(_sum(_amount(line) for line in _lines(counters, prices) if line.count and not _lack(line)))


def add(costs: Iterable[Cost]) -> Cost:
    """The cost of several exchanges: unavailable if any is, or if they are not in one currency. Of none it is zero."""
    all_costs = list(costs)
    lacking = [each for each in all_costs if each.amount is None]
    currencies = {each.currency for each in all_costs}
    snapshots = ",".join(sorted({each.snapshot for each in all_costs if each.snapshot}))
    if lacking:
        reasons = sorted({each.reason for each in lacking})
        why = (
            f"{reasons[0]}{' and others' if len(reasons) > 1 else ''}, in {len(lacking)} of {len(all_costs)} exchanges"
        )
        return Cost(reason=why, currency=currencies.pop() if len(currencies) == 1 else "", snapshot=snapshots)
    if len(currencies) > 1:
        return Cost(reason="several_currencies", snapshot=snapshots)
    parts: dict[str, Decimal] = {}
    for each in all_costs:
        for name, share in each.parts.items():
            parts[name] = _EXACT.add(parts.get(name, Decimal(0)), Decimal(share))
    total = _sum(Decimal(each.amount or 0) for each in all_costs)
    shares = {name: plain(part) for name, part in parts.items()}
    return Cost(plain(total), "", currencies.pop() if currencies else "", snapshots, shares)


def plain(value: Decimal) -> str:
    """Plain decimal text: no exponent, no trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") or "0" if "." in text else text


@dataclass(frozen=True)
class _Line:
    name: str
    count: int | str  # text is the reason why there is no count
    price: str | None


def _misfit(usage: Usage, prices: Snapshot, model: str) -> str:
    """Why these prices are not for this answer; empty where they are. An answer may leave its tier unsaid."""
    said, priced = usage.service_tier.lower(), prices.service_tier.lower()
    if model != prices.model:
        return "priced_for_another_model"
    if said and said != priced and not {said, priced} <= _USUAL_TIERS:
        return "priced_for_another_service_tier"
    unpriced = usage.counters.unpriced
    return f"no_price_for_{unpriced[0]}" if unpriced else ""


def _lines(counters: Counters, prices: Snapshot) -> Iterator[_Line]:
    """What is charged; every token in one line."""
    yield _Line("input", _count(counters, "uncached_input"), prices.input)
    yield _Line("cached_input", _count(counters, "cached_input"), prices.cached_input)
    if counters.reason("cache_write") != NOT_IN_WIRE:  # else what was written is priced as input
        yield _Line("cache_write", _count(counters, "cache_write"), prices.cache_write)
    output, reasoning = _count(counters, "output"), _count(counters, "reasoning")
    if not counters.reasoning_inside_output:
        yield _Line("output", output, prices.output)
        yield _Line("reasoning", reasoning, prices.output if prices.reasoning is None else prices.reasoning)
    elif prices.reasoning is None:
        yield _Line("output", output, prices.output)
    else:
        yield _Line("output", _without(output, reasoning), prices.output)
        yield _Line("reasoning", reasoning, prices.reasoning)


def _count(counters: Counters, name: str) -> int | str:
    value = counters.get(name)
    return f"{name}_{counters.reason(name)}" if value is None else value


def _without(output: int | str, reasoning: int | str) -> int | str:
    if isinstance(output, str) or isinstance(reasoning, str):
        return output if isinstance(output, str) else reasoning
    return output - reasoning if output >= reasoning else f"reasoning_{CONTRADICTORY}"


def _lack(line: _Line) -> str:
    """Why a line cannot be computed; empty where it can. Of what was not used no price is needed."""
    if isinstance(line.count, str):
        return line.count
    return f"no_price_for_{line.name}" if line.count and line.price is None else ""


def _amount(line: _Line) -> Decimal:
    price = Decimal(line.price or 0)
    return _EXACT.multiply(Decimal(int(line.count)), price).scaleb(-6, _EXACT)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total
