"""`exchange.json`: the one page about a model call. Derived from its journal, stored last, never changed."""

from dataclasses import dataclass, field, replace
from typing import Literal

from fairtrial import documents
from fairtrial.documents import RunIdentity
from fairtrial.usage.counters import Usage

Ending = Literal[
    "complete",  # the provider's answer came to its end
    "client_gone",  # the agent went away; what could still be drained is in the journal
    "upstream_cut",  # the provider's answer ended before its end
    "upstream_silent",  # the provider sent nothing for too long
    "upstream_unreachable",  # no answer at all
    "refused",  # never forwarded; `refusal` says why
    "gateway_cut",  # the gateway ended the answer, at a limit of its own
    "gateway_restarted",  # the gateway itself ended in the middle
]


@dataclass(frozen=True)
class Leak:
    """A credential found in what was journalled: its name, how it was written, where. Never the credential."""

    name: str
    encoding: str
    where: Literal["request_head", "request_body", "response_head", "response_body", "response_text"]
    offset: int  # in the body without its content coding; in what a streamed answer says, for `response_text`


@dataclass(frozen=True)
class Scan:
    """What is learnt by reading the journal once more after its end."""

    request_sha256: str
    response_sha256: str | None  # None without an answer
    leaks: list[Leak] = field(default_factory=list)
    leak_scan: Literal["done", "failed"] = "done"


@dataclass(frozen=True)
class JournalFile:
    """The stored journal of the exchange."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Exchange:
    """One model call. Times are milliseconds since `started_at`; byte counts and digests are of bodies as sent."""

    exchange: str
    run: RunIdentity
    provider: str
    wire: str
    path: str
    started_at: str
    ending: Ending
    kind: str = "generate"  # or count_tokens, which generates nothing; empty for a path that no wire knows
    refusal: str = ""  # wrong_model, wrong_parameter, budget_*, rate, body_too_large, bad_request, …
    message: str = ""  # the ending or the refusal in a sentence
    requested_model: str | None = None
    answered_model: str | None = None
    status: int | None = None  # None: there was no answer
    provider_request_id: str | None = None
    response_id: str | None = None
    stop_reason: str = ""
    error_type: str = ""  # as the provider's error, or an error in its stream, names it
    queued_ms: int = 0  # waited for its turn at the provider
    ttfb_ms: int | None = None  # first byte of the answer's head
    ttft_ms: int | None = None  # first part of the answer that an agent can use; of one that does not stream, its end
    ttlb_ms: int | None = None  # last byte of the answer
    request_bytes: int = 0
    response_bytes: int = 0
    request_sha256: str | None = None
    response_sha256: str | None = None
    streamed: bool = False
    usage: Usage = field(default_factory=Usage)
    first_usable: bool = False  # something that an agent can act on had come
    step: str = ""  # of the task, that the call is counted for; empty where it is not known
    session: dict[str, str] = field(default_factory=dict)
    leaks: list[Leak] = field(default_factory=list)
    leak_scan: Literal["done", "failed", "not_yet"] = "not_yet"
    journal: JournalFile | None = None  # None inside the journal itself
    schema_version: int = 1

    def scanned(self, scan: Scan) -> "Exchange":
        """The page with what a scan found."""
        return replace(
            self,
            request_sha256=scan.request_sha256,
            response_sha256=scan.response_sha256,
            leaks=scan.leaks,
            leak_scan=scan.leak_scan,
        )

    def with_journal(self, size: int, sha256: str) -> "Exchange":
        """The page as it is stored, naming its journal."""
        return replace(self, journal=JournalFile(size, sha256))


def dump(exchange: Exchange) -> bytes:
    """The canonical bytes."""
    return documents.dump(exchange)


def load(data: bytes, *, name: str = "exchange.json") -> Exchange:
    """Read a page strictly; `InvalidInput` names what does not fit."""
    return documents.load(Exchange, data, name=name)
