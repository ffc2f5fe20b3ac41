"""The wires whose requests name model and streaming in the body: all but Gemini's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairtrial.usage.counters import Semantics
from fairtrial.wires import body as bodies
from fairtrial.wires import reading
from fairtrial.wires.base import Call, Reader, RequestFacts

SERVER_ERROR = 500


@dataclass(frozen=True)
class BodyWire:
    """Implements `Wire` for such a wire out of what is its own."""

    name: str
    routes: Mapping[str, Literal["generate", "count_tokens"]]
    renamed: Mapping[str, str]  # "object.key" in a request → the parameter's name here
    account: Callable[[], reading.Account]
    error: Callable[[int, str, str], Any]  # status, kind and message → the body
    usage_flag: str = ""  # a parameter without which a stream has no usage

    def classify(self, method: str, path: str) -> Call | None:
        """The call that a request makes."""
        kind = self.routes.get(path.partition("?")[0]) if method == "POST" else None
        return kind and Call(self.name, kind, streamed=None if kind == "generate" else False)

    def read_request(self, call: Call, body: bytes) -> RequestFacts:
        """What the body asks for."""
        request, problem = bodies.parse_request(body)
        if problem:
            return RequestFacts(call, problem=problem)
        model, streamed, problem = bodies.model_and_stream(request)
        parameters, other = bodies.parameters(request, self.renamed)
        streamed = streamed if call.streamed is None else call.streamed
        asks = not (self.usage_flag and streamed) or parameters.get(self.usage_flag) == "true"
        return RequestFacts(call, model, streamed, parameters, asks, problem or other)

    def reader(self, request: RequestFacts, semantics: Semantics, status: int = 200) -> Reader:
        """A reader for the answer."""
        return reading.AnswerReader(self.account(), request, semantics, status)

    def error_body(self, _call: Call | None, /, status: int, kind: str, message: str) -> tuple[str, bytes]:
        """An error as this wire has it."""
        return "application/json", reading.error_json(self.error(status, kind, message))
