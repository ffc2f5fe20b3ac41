"""One module for each wire: how an answer and an error are said in it. Pure; bytes are made, nothing is sent."""

from fairtrial.scripted.choose import Answer
from fairtrial.scripted.conversation import Conversation
from fairtrial.scripted.dialects import chat, gemini, messages, responses
from fairtrial.scripted.dialects.events import Event, encoded

_MODULES = {"messages": messages, "chat": chat, "responses": responses, "gemini": gemini}
COUNT_TOKENS = "count_tokens"


def body(conversation: Conversation, answer: Answer) -> bytes:
    """The whole answer as one JSON body."""
    if conversation.wire == COUNT_TOKENS:
        return encoded(messages.count(answer))
    return encoded(_MODULES[conversation.wire].body(answer))


def events(conversation: Conversation, answer: Answer, chars: int) -> list[Event]:
    """The answer as a stream, with so many characters of text in an event."""
    if conversation.wire == "chat":
        return chat.events(answer, chars, wants_usage=conversation.wants_usage)
    if conversation.wire == "gemini":
        return gemini.events(answer, chars, framed=conversation.framed)
    if conversation.wire == "responses":
        return responses.events(answer, chars)
    return messages.events(answer, chars)


def error(wire: str, status: int, message: str) -> bytes:
    """An error body, as the wire's clients read it; for a path of no wire, as most do."""
    return encoded((messages if wire == COUNT_TOKENS else _MODULES.get(wire, chat)).error(status, message))


__all__ = ["COUNT_TOKENS", "Event", "body", "error", "events"]
