"""Gemini's generateContent, streamGenerateContent and countTokens: the model is in the path.

A stream is server-sent events with `alt=sse` and one JSON array without. `usageMetadata` comes in every part and grows:
of each field the last that was seen counts. Thoughts are counted outside `candidatesTokenCount`, and what tools fed
back outside `promptTokenCount`; zeros are left out, as everywhere in this API's JSON.
"""

import re
from typing import Any
from urllib.parse import parse_qs, unquote

from fairtrial.usage.counters import NOT_IN_WIRE, Reported, Semantics, count
from fairtrial.wires import body as bodies
from fairtrial.wires import reading
from fairtrial.wires.base import GEMINI, Call, Reader, RequestFacts
from fairtrial.wires.common import SERVER_ERROR

_ROUTE = re.compile(r"/v1(?:beta|alpha)?/models/([^/:?#]+):(generateContent|streamGenerateContent|countTokens)")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,255}")
_RENAMED = {
    "max_output_tokens": "max_tokens",
    "thinking_config.thinking_budget": "thinking_budget",
    "thinking_config.thinking_level": "reasoning_effort",
    "thinking_config.include_thoughts": "include_thoughts",
}
_STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    504: "DEADLINE_EXCEEDED",
}


class Gemini:
    """The wire `gemini`."""

    name = GEMINI

    def classify(self, method: str, path: str) -> Call | None:
        """The call that a request makes."""
        route, _, query = path.partition("?")
        found = _ROUTE.fullmatch(route) if method == "POST" else None
        if found is None or not _MODEL.fullmatch(model := unquote(found.group(1))):
            return None
        verb = found.group(2)
        if verb == "countTokens":
            return Call(self.name, "count_tokens", model, streamed=False, sse=False)
        is_sse = parse_qs(query).get("alt") == ["sse"]
        return Call(self.name, "generate", model, streamed=verb == "streamGenerateContent", sse=is_sse)

    def read_request(self, call: Call, body: bytes) -> RequestFacts:
        """What the body asks for."""
        request, problem = bodies.parse_request(body)
        request, doubled = _snaked(request)
        inner, twice = _snaked(bodies.child(request, "generation_config"))
        thinking, thrice = _snaked(bodies.child(inner, "thinking_config"))
        top = {name: value for name, value in request.items() if name not in {"model", "generation_config"}}
        parameters, other = bodies.parameters({**top, **inner, "thinking_config": thinking}, _RENAMED)
        for named in (request, bodies.child(request, "generate_content_request")):
            said = named.get("model")
            if said is not None and bodies.text(said).removeprefix("models/") != call.model:
                other = other or f"the body names the model {bodies.text(said)!r}, the path {call.model!r}"
        problem = problem or doubled or twice or thrice or other
        return RequestFacts(call, call.model, bool(call.streamed), parameters, problem=problem)

    def reader(self, request: RequestFacts, semantics: Semantics, status: int = 200) -> Reader:
        """A reader for the answer."""
        return reading.AnswerReader(_Account(), request, semantics, status)

    def error_body(self, call: Call | None, /, status: int, kind: str, message: str) -> tuple[str, bytes]:
        """An error as this wire has it; a stream that is an array has it in one."""
        fallback = "INVALID_ARGUMENT" if status < SERVER_ERROR else "UNAVAILABLE"
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": kind.upper(), "domain": "fairtrial.dev"}
        error: dict[str, Any] = {
            "code": status,
            "message": f"{kind}: {message}",
            "status": _STATUSES.get(status, fallback),
            "details": [info],
        }
        is_array = call is not None and bool(call.streamed) and not call.sse
        return "application/json", reading.error_json([{"error": error}] if is_array else {"error": error})


def _snaked(value: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The object under the names of its definition: its JSON may have either form, so twice is a problem."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = bodies.snake(key)
        if name in found:
            return found, f"the body names {bodies.text(key)!r} twice"
        found[name] = item
    return found, f"the body names {bodies.text(value.key)!r} twice" if isinstance(value, bodies.Doubled) else ""


class _Account:
    def __init__(self) -> None:
        self.seen = reading.Seen()

    def wants(self, _name: str, _data: str) -> bool:
        return True

    def event(self, _name: str, value: dict[str, Any]) -> None:
        seen = self.seen
        if value.get("error"):
            error = bodies.child(value, "error")
            seen.note(error_type=error.get("status") or bodies.text(error.get("code")) or "error")
            return
        seen.note(response_id=value.get("responseId"), model=value.get("modelVersion"))
        for candidate in bodies.items(value, "candidates"):
            seen.first_usable |= any(bodies.items(bodies.child(candidate, "content"), "parts"))
            if isinstance(candidate.get("finishReason"), str):
                seen.ended = True
                seen.note(stop_reason=candidate["finishReason"])
        if blocked := bodies.child(value, "promptFeedback").get("blockReason"):
            seen.ended = True
            seen.note(stop_reason=blocked)
        if seen.merge(value.get("usageMetadata")):
            seen.final = seen.ended
            seen.note(service_tier=bodies.child(value, "usageMetadata").get("serviceTier"))

    def whole(self, value: dict[str, Any]) -> None:
        self.event("", value)
        if not self.seen.error_type:
            self.seen.first_usable |= bool(bodies.items(value, "candidates"))
            self.seen.ended = self.seen.final = True

    def reported(self) -> Reported:
        usage = self.seen.usage
        prompt, tools = count(usage.get("promptTokenCount")), usage.get("toolUsePromptTokenCount")
        if tools is not None and isinstance(prompt, int):
            fed_back = count(tools)
            prompt = prompt + fed_back if isinstance(fed_back, int) else fed_back
        details = [
            each
            for name in ("promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails")
            for each in bodies.items(usage, name)
        ]
        is_audio = any(each.get("modality") == "AUDIO" and each.get("tokenCount") for each in details)
        return Reported(
            input=prompt,
            cached=count(usage.get("cachedContentTokenCount")),
            cache_write=NOT_IN_WIRE,
            output=count(usage.get("candidatesTokenCount")),
            reasoning=count(usage.get("thoughtsTokenCount")),
            total=count(usage.get("totalTokenCount")),
            unpriced=("audio",) if is_audio else (),
        )
