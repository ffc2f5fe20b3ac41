"""How a run's model calls went over the time of the run: faults and what followed, first tokens, growing context. Pure.

Faults (protocol 4 §7 "recovery rate", §10). A call is a fault if it failed on the provider's side: unreachable, silent,
cut, 429, 529, 5xx, the credential refused, an error in the stream of these kinds; or if a whole answer without an error
held nothing that an agent can use. A fault is recovered from if a call that began after its end had a usable answer and
was no fault. Whether somebody injected the fault can't be told from here. Calls that the agent gave up are none.

Time to first token (protocol 4 §7 "context degradation"). From the call's arrival at the gateway until the first part
of the answer that an agent can use had come, so time in the queue of the gateway is in it; of an answer that does not
stream, its end.

Start and tail. Calls with a usable answer are taken in the order of their beginning; the start is the first third of
them, the tail the last, rounded down, and there are none of fewer than nine calls. Each is told by its lower median,
which is a value that was observed. Input tokens are uncached, cached and written to the cache together: the size of the
context. Calls of sub-agents are among them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median_low

from fairtrial.journal.summary import Exchange
from fairtrial.wires.outage import Answer, failure

LEAST_CALLS = 9
PARTS = 3
TOO_FEW, NO_ANSWER = "fewer_than_9_calls", "no_usable_answer"
UNUSABLE = "unusable_answer"
_ERROR = 400


@dataclass(frozen=True)
class Pair:
    """A value at the start and in the tail, or why there is none."""

    start: int | None = None
    tail: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Course:
    """What the calls of one run came to over its time."""

    faults: dict[str, int] = field(default_factory=dict)  # by what failed
    recovered: int = 0
    first_token_ms: int | None = None  # the lower median of all usable answers
    first_token_reason: str = NO_ANSWER
    first_tokens_ms: Pair = field(default_factory=lambda: Pair(reason=NO_ANSWER))
    largest_input: int | None = None
    largest_input_reason: str = NO_ANSWER
    inputs: Pair = field(default_factory=lambda: Pair(reason=NO_ANSWER))


def answer_of(page: Exchange) -> Answer:
    """A call's end in the words in which outages are judged."""
    return Answer(page.status, page.ending, page.first_usable, page.error_type, page.kind, page.ending == "refused")


def span(page: Exchange) -> tuple[int, int]:
    """When a call began and ended, in milliseconds: its name begins with its start."""
    began = int(page.exchange.partition("-")[0])
    return began, began + (page.ttlb_ms or page.ttfb_ms or 0)


def fault(page: Exchange) -> str:
    """What failed on the provider's side; empty where nothing did."""
    found = failure(answer_of(page))
    if found:
        return found
    whole = page.ending == "complete" and page.status is not None and page.status < _ERROR
    return UNUSABLE if whole and not page.first_usable and not page.error_type else ""


def course(generating: Sequence[Exchange]) -> Course:
    """The course of the calls that were forwarded and generate something."""
    ordered = sorted(generating, key=lambda one: one.exchange)
    faults = [(one, fault(one)) for one in ordered]
    usable = [one for one, found in faults if one.first_usable and not found]
    latest = max((span(one)[0] for one in usable), default=-1)
    waited, why_waited = _all([one.ttft_ms for one in usable])
    inputs, why_inputs = _all([one.usage.counters.get("all_input") for one in usable])
    return Course(
        faults=dict(sorted(Counter(found for _, found in faults if found).items())),
        recovered=sum(latest >= span(one)[1] for one, found in faults if found),
        first_token_ms=median_low(waited) if waited else None,
        first_token_reason=why_waited,
        first_tokens_ms=_pair(waited, why_waited),
        largest_input=max(inputs, default=None),
        largest_input_reason=why_inputs,
        inputs=_pair(inputs, why_inputs),
    )


def _all(values: Sequence[int | None]) -> tuple[list[int], str]:
    """The values if every call has one; else none, and how many lack it."""
    known = [each for each in values if each is not None]
    if len(known) == len(values):
        return known, "" if known else NO_ANSWER
    return [], f"unknown_in_{len(values) - len(known)}_of_{len(values)}_calls"


def _pair(values: Sequence[int], reason: str) -> Pair:
    if reason:
        return Pair(reason=reason)
    if len(values) < LEAST_CALLS:
        return Pair(reason=TOO_FEW)
    size = len(values) // PARTS
    return Pair(median_low(values[:size]), median_low(values[-size:]))
