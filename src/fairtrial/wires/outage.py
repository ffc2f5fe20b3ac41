"""Whether a provider was out, and whether that was before an agent had its first usable answer. Pure.

An exchange that failed on the provider's side is no outage by itself: agents try again. It is one if the run's last
exchange failed so, because then nothing better came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairtrial.wires.common import SERVER_ERROR

Cause = Literal["", "unreachable", "silent", "cut", "overloaded", "rate_limited", "server_error", "credential_refused"]

_OVERLOADED, _RATE_LIMITED = 529, 429
_ENDINGS: dict[str, Cause] = {
    "upstream_unreachable": "unreachable",
    "upstream_silent": "silent",
    "upstream_cut": "cut",
}
_STATUSES: dict[int, Cause] = {
    _OVERLOADED: "overloaded",
    _RATE_LIMITED: "rate_limited",
    401: "credential_refused",  # the agent has no credential: the one that the gateway puts in was refused
    403: "credential_refused",
}
_ERRORS: dict[str, Cause] = {  # what a stream that began well can still say
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "insufficient_quota": "rate_limited",
    "resource_exhausted": "rate_limited",
    "api_error": "server_error",
    "server_error": "server_error",
    "internal": "server_error",
    "unavailable": "server_error",
    "timeout_error": "server_error",
    "deadline_exceeded": "server_error",
}


@dataclass(frozen=True)
class Answer:
    """How one exchange ended, in the journal's words."""

    status: int | None  # None where no answer came
    ending: str  # as exchange.json has it
    first_usable: bool
    error_type: str = ""
    kind: str = "generate"
    refused: bool = False  # by the gateway itself: no fault of the provider


@dataclass(frozen=True)
class Outage:
    """A provider outage that ended a run's conversation."""

    cause: Cause
    before_first_usable: bool  # no answer had brought as much as a first token


def failure(answer: Answer) -> Cause:
    """What failed on the provider's side; empty where nothing did, or where the client or the gateway ended it."""
    if answer.refused or answer.ending in {"refused", "client_gone", "gateway_restarted"}:
        return ""
    if answer.ending in _ENDINGS:
        return _ENDINGS[answer.ending]
    if answer.status in _STATUSES:
        return _STATUSES[answer.status]
    if answer.status is None or answer.status >= SERVER_ERROR:
        return "unreachable" if answer.status is None else "server_error"
    return _ERRORS.get(answer.error_type.lower(), "")


def outage(answers: Sequence[Answer]) -> Outage | None:
    """The outage that a run's exchanges, in the order in which they ended, came to; None if there is none."""
    calls = [answer for answer in answers if answer.kind == "generate" and not answer.refused]
    if not calls or not (cause := failure(calls[-1])):
        return None
    return Outage(cause, not any(answer.first_usable for answer in calls))
