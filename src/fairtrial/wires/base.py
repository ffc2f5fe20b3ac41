"""What every wire answers: the call, the facts of a request, the facts of a response, and an error in its own shape."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from fairtrial.usage.counters import Semantics, Usage

ANTHROPIC, CHAT, RESPONSES, GEMINI = "anthropicMessages", "openaiChat", "openaiResponses", "gemini"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a wire, as method and path tell it."""

    wire: str  # as ModelProvider.spec.wire names it
    kind: Literal["generate", "count_tokens"]
    model: str = ""  # where the path names it (Gemini); empty where the body does
    streamed: bool | None = None  # None where the body says so
    sse: bool = True  # a streamed answer comes as server-sent events, not as one JSON array


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What a request asks for. With a `problem` the rest is what could be read, and the call must not be forwarded."""

    call: Call
    model: str = ""
    streamed: bool = False
    parameters: dict[str, str] = field(default_factory=dict)  # name → value as text, for the pin
    asks_usage: bool = True  # False where a stream was asked for without its usage (OpenAI chat)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """What an answer says, as far as it was received."""

    usage: Usage
    response_id: str = ""
    model: str = ""  # the model that answered, as the answer says
    first_usable: bool = False  # a first token or tool call was seen, or a whole answer
    ended: bool = False  # the answer came to its own end, as the wire defines it
    stop_reason: str = ""
    error_type: str = ""
    problem: str = ""  # what could not be read, in one sentence


class Reader(Protocol):
    """Reads one answer as it passes. Memory is bounded, whatever is fed."""

    @property
    def usable(self) -> bool:
        """Whether something that an agent can use has come. Of an answer that does not stream: only at its end."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the decompressed body, cut anywhere."""

    def finish(self) -> ResponseFacts:
        """What was learnt, when nothing more comes."""


class Wire(Protocol):
    """One wire protocol."""

    @property
    def name(self) -> str:
        """As ModelProvider.spec.wire has it."""

    def classify(self, method: str, path: str) -> Call | None:
        """The call that a request makes; None if it is none of this wire. `path` may have a query."""

    def read_request(self, call: Call, body: bytes) -> RequestFacts:
        """What the (decompressed) body asks for. Never raises."""

    def reader(self, request: RequestFacts, semantics: Semantics, status: int = 200) -> Reader:
        """A reader for the answer to a request that came with `status`."""

    def error_body(self, call: Call | None, /, status: int, kind: str, message: str) -> tuple[str, bytes]:
        """Content type and body of an error in this wire's shape; `kind` is our own word, such as wrong_model."""
