"""All wires, by the names that ModelProvider.spec.wire may have."""

from fairtrial.wires import anthropic_messages, gemini, openai_chat, openai_responses
from fairtrial.wires.base import Call, Wire

WIRES: tuple[Wire, ...] = (anthropic_messages.WIRE, openai_chat.WIRE, openai_responses.WIRE, gemini.Gemini())
BY_NAME = {wire.name: wire for wire in WIRES}


def find(method: str, path: str) -> tuple[Wire, Call] | None:
    """The wire and the call that a request is for; None if no wire knows the path. `path` may have a query."""
    for wire in WIRES:
        if call := wire.classify(method, path):
            return wire, call
    return None
