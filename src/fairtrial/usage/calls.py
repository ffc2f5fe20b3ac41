"""What a run's model calls came to: one document made from the pages of its exchanges. Pure.

`artifacts/model/calls.json` of a run. Made once, when the agent is gone and every call that began has its page, or will
never have one; the record takes usage, cost and the provider's share in the outcome from it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairtrial.journal.summary import Exchange, Leak
from fairtrial.usage import money
from fairtrial.usage.counters import NOT_FORWARDED, Total, add
from fairtrial.usage.course import Course, answer_of, course, fault, span
from fairtrial.wires.outage import outage

ARTIFACT = "model/calls.json"
_DATED = re.compile(r"(?:-preview)?-(?:[0-9]{3,8}|[0-9]{2}-[0-9]{2,4}|[0-9]{4}-[0-9]{2}-[0-9]{2})")
NOT_SERVED = ("provider_unusable", "unavailable")
BUDGET = "budget_"  # what the gateway's refusals for a used-up budget begin with


@dataclass(frozen=True)
class Call:
    """One exchange, with size and digest of its page and of its journal, by which both are found again."""

    exchange: str
    page_size: int
    page_sha256: str
    kind: str
    ending: str
    refusal: str
    status: int | None
    answered_model: str | None
    usage: str  # complete, incomplete, absent or not_applicable
    journal_size: int | None
    journal_sha256: str | None
    fault: str = ""  # what failed on the provider's side
    ttft_ms: int | None = None
    input_tokens: int | None = None  # uncached, cached and written to the cache together
    output_tokens: int | None = None


@dataclass(frozen=True)
class FoundLeak:
    """A credential or a canary found in an exchange."""

    exchange: str
    leak: Leak


@dataclass(frozen=True)
class UsedUp:
    """A budget that was used up, such as `budget_tokens` of the run or `budget_step_tokens` of a step, and where."""

    budget: str
    step: str  # in which calls were refused or ended for it; empty where steps are not known
    calls: int


@dataclass(frozen=True)
class ModelCalls:
    """The calls of one run. `answered` are those with a usable answer; sums are over what was forwarded."""

    provider: str
    model: str
    calls: list[Call]
    forwarded: int
    answered: int
    refused: dict[str, int]  # by the gateway's reason
    unfinished: list[str]  # exchanges that began and whose end nobody recorded
    total: Total
    cost: money.Cost
    answered_models: list[str]
    outage: Literal["", "before_first_usable", "after_first_usable"] = ""
    outage_cause: str = ""
    leaks: list[FoundLeak] = field(default_factory=list)
    unscanned: int = 0  # exchanges in which nobody looked for credentials
    course: Course = field(default_factory=Course)
    used_up: list[UsedUp] = field(default_factory=list)  # in the order in which calls met them
    schema_version: int = 1

    @property
    def wrong_model(self) -> bool:
        """Whether another model took part, or the candidate asked for nothing but another one.

        A call for another model that is refused has no effect; if it made the run invalid, an agent that sees itself
        fail could have its run replaced.
        """
        other = any(not is_model(answered, self.model) for answered in self.answered_models)
        return other or (self.answered == 0 and self.refused.get("wrong_model", 0) > 0)

    @property
    def never_served(self) -> bool:
        """Whether the gateway itself could serve none of the calls, for a cause that no agent can bring about."""
        return self.answered == 0 and any(self.refused.get(reason) for reason in NOT_SERVED)

    @property
    def budget(self) -> str:
        """The budget that was used up first, such as `budget_tokens`; empty if none was."""
        return next((each.budget for each in self.used_up), "")


def summarise(
    pages: Mapping[str, tuple[Exchange, int, str]],
    unfinished: Sequence[str],
    *,
    provider: str,
    model: str,
    prices: money.Snapshot | None,
) -> ModelCalls:
    """The document for `pages`, which holds each exchange's page, its size and its SHA-256 as stored, by its name."""
    ordered = [(name, *pages[name]) for name in sorted(pages)]
    exchanges = [exchange for _, exchange, _, _ in ordered]
    forwarded = [one for one in exchanges if one.ending != "refused" and one.usage.reason != NOT_FORWARDED]
    generating = [one for one in forwarded if one.kind == "generate"]
    costs = (money.cost(one.usage, prices, one.answered_model or one.requested_model or model) for one in forwarded)
    out = outage([answer_of(one) for one in sorted(exchanges, key=_end)])
    return ModelCalls(
        provider=provider,
        model=model,
        calls=[_call(name, exchange, size, sha256) for name, exchange, size, sha256 in ordered],
        forwarded=len(generating),
        answered=sum(one.first_usable for one in generating),
        refused=dict(sorted(Counter(one.refusal for one in exchanges if one.ending == "refused").items())),
        unfinished=sorted(unfinished),
        total=add(one.usage for one in forwarded),
        cost=money.add(costs) if prices else money.Cost(reason="no_pricing_snapshot"),
        answered_models=sorted({one.answered_model for one in generating if one.answered_model}),
        outage="" if out is None else "before_first_usable" if out.before_first_usable else "after_first_usable",
        outage_cause=out.cause if out else "",
        leaks=[FoundLeak(name, leak) for name, exchange, _, _ in ordered for leak in exchange.leaks],
        unscanned=sum(one.leak_scan != "done" for one in exchanges),
        course=course(generating),
        used_up=_used_up(exchanges),
    )


def _used_up(exchanges: Sequence[Exchange]) -> list[UsedUp]:
    """Budgets for which calls were refused, or ended in the middle."""
    found = Counter((one.refusal, one.step) for one in exchanges if one.refusal.startswith(BUDGET))
    return [UsedUp(budget, step, calls) for (budget, step), calls in found.items()]


def _call(name: str, page: Exchange, size: int, sha256: str) -> Call:
    return Call(
        exchange=name,
        page_size=size,
        page_sha256=sha256,
        kind=page.kind,
        ending=page.ending,
        refusal=page.refusal,
        status=page.status,
        answered_model=page.answered_model,
        usage=page.usage.state,
        journal_size=page.journal.size if page.journal else None,
        journal_sha256=page.journal.sha256 if page.journal else None,
        fault=fault(page) if page.kind == "generate" else "",
        ttft_ms=page.ttft_ms,
        input_tokens=page.usage.counters.get("all_input"),
        output_tokens=page.usage.counters.get("output"),
    )


def _end(page: Exchange) -> tuple[int, str]:
    return span(page)[1], page.exchange


def is_model(answered: str, pinned: str) -> bool:
    """Whether an answer's model is the pinned one; providers answer an alias with the dated name that it stands for.

    Anything but a date or a build behind the name makes another model of it: a mini one, or the next version.
    """
    bare = answered.removeprefix("models/")
    return bare == pinned or (bare.startswith(pinned) and _DATED.fullmatch(bare, len(pinned)) is not None)
