"""What a call came to, and whether a run, or the step that it is in, may have another. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from fairtrial.usage import money
from fairtrial.usage.counters import Counters, Usage
from fairtrial_gateway.models.parties import Budget, Party, Provider
from fairtrial_gateway.models.steps import Step


@dataclass(frozen=True)
class Spent:
    """What one exchange came to: lower bounds, where its usage is not known as a whole."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    step: str = ""  # of the task, that it is counted for


@dataclass(frozen=True)
class Over:
    """A budget that is used up, as the refusal's word and a sentence for the agent."""

    refusal: str
    message: str


def over(budget: Budget, spent: Mapping[str, Spent], provider: Provider, step: str = "") -> Over | None:
    """The first budget, of the run or of the step that it is in, that leaves nothing for another call."""
    found = _over(budget, list(spent.values()), provider, Whose("", "this run"))
    if found is None and budget.per_step is not None:
        of_step = [each for each in spent.values() if each.step == step]
        found = _over(budget.per_step, of_step, provider, Whose("step_", f"step {step} of this run"))
    return found


@dataclass(frozen=True)
class Whose:
    """Whose a budget is, in a refusal's word and in its sentence."""

    word: str
    name: str

    def over(self, kind: str, what: str) -> Over:
        """It is used up."""
        message = f"budget_exhausted: {self.name} may use {what}, and has. No further call of it will be answered."
        return Over(f"budget_{self.word}{kind}", message)


def _over(budget: Budget, spent: Sequence[Spent], provider: Provider, whose: Whose) -> Over | None:
    if budget.calls is not None and len(spent) >= budget.calls:
        return whose.over("calls", f"{budget.calls} model calls")
    if budget.tokens is not None and sum(each.tokens for each in spent) >= budget.tokens:
        return whose.over("tokens", f"{budget.tokens} tokens")
    if budget.cost is not None:
        pricing = provider.spec.pricing
        if pricing is None:
            message = f"budget_exhausted: the money of {whose.name} is limited, and its provider has no prices for it."
            return Over(f"budget_{whose.word}cost", message)
        if sum((each.cost for each in spent), Decimal(0)) >= budget.cost:
            return whose.over("cost", f"{budget.cost} {pricing.currency}")
    return None


def refusal(party: Party, spent: Mapping[str, Spent], now: float) -> Over | None:
    """Why the run may not have another call now, in seconds of the epoch; None if it may."""
    limit = time_limit(party.budget, party.step)
    if limit is not None and now >= limit.at:
        return limit.over
    return over(party.budget, spent, party.provider, party.step_name)


@dataclass(frozen=True)
class TimeLimit:
    """When the time of a run or of its step is over, in seconds of the epoch, and what is said then."""

    at: float
    over: Over


def time_limit(budget: Budget, step: Step | None) -> TimeLimit | None:
    """The limit that comes first; none before the first step. Where both come at once the run's is named."""
    if step is None:
        return None
    own = Whose("step_", f"step {step.name} of this run").over("wall", f"{step.wall_seconds} s")
    limits = [TimeLimit(step.begun + step.wall_seconds, own)]
    if budget.wall_seconds is not None:
        left = budget.wall_seconds - step.earlier_ms / 1000
        whole = Whose("", "this run").over("wall", f"{budget.wall_seconds} s")
        limits.insert(0, TimeLimit(step.begun + left, whole))
    return min(limits, key=lambda limit: limit.at)


def spent_on(usage: Usage, prices: money.Snapshot | None, step: str = "") -> Spent:
    """What a usage comes to at least."""
    counters = usage.counters
    cost = Decimal(money.at_least(counters, prices)) if prices else Decimal(0)
    return Spent(tokens_at_least(counters), cost, step)


def tokens_at_least(counters: Counters) -> int:
    """Input and output, each token once, as far as they are known."""
    parts = (counters.uncached_input or 0) + (counters.cached_input or 0) + (counters.cache_write or 0)
    apart = 0 if counters.reasoning_inside_output else counters.reasoning or 0
    known = max(counters.all_input or 0, parts) + (counters.output or 0) + apart
    return max(known, counters.total or 0)


def prices_of(provider: Provider) -> money.Snapshot | None:
    """The provider's prices in the form that money is counted in."""
    pricing = provider.spec.pricing
    if pricing is None:
        return None
    return pricing.prices_of(provider.name, provider.spec.model.id)
