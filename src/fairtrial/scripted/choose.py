"""What the script answers to a conversation. Pure: the same request always gets the same answer.

The step follows from the number of tool results in the conversation, so a retried request is answered again as before,
and a server that was restarted goes on where the agent is.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairtrial.scripted.conversation import Conversation
from fairtrial.scripted.faults import Fault
from fairtrial.scripted.script import Call, Script, Step, Usage
from fairtrial.scripted.tools import chosen, finishing
from fairtrial.scripted.usage import Counts, counts

BLOCKS_WANTED = "SEARCH/REPLACE block"  # aider has no tools: its instructions ask for edits as text, in these words
DONE = "Done."


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool; `arguments` is JSON text, and with a fault something that isn't."""

    id: str
    name: str
    arguments: str
    namespace: str = ""


@dataclass(frozen=True)
class Answer:
    """What the model says, before any dialect."""

    id: str
    model: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Counts | None = None


@dataclass(frozen=True)
class Position:
    """Where in the script a conversation is. `session` is 0 for the script's own steps, else counted from 1."""

    session: int
    step: int | Literal["plain"]
    faults: Sequence[Fault]


@dataclass(frozen=True)
class Choice:
    """The answer to a request, and the position that it was chosen from."""

    position: Position
    answer: Answer


def choose(script: Script, conversation: Conversation) -> Choice:
    """Answer a request. Raises BadRequest if the agent offers no tool for what the script wants."""
    session, steps, faults, results = _session(script, conversation)
    if not conversation.tools:
        if not _wants_blocks(conversation):
            position = Position(0, "plain", script.faults)
            return Choice(position, _answer(script, conversation, position, Usage(), script.plain, ()))
        number, text = _blocks(steps, conversation)
        position = Position(session, number, faults)
        return Choice(position, _answer(script, conversation, position, steps[number - 1].usage, text, ()))
    number = _reached(steps, results)
    position = Position(session, min(number, len(steps)), faults)
    step = steps[number - 1] if number <= len(steps) else Step(say=DONE)
    text, calls = _told(script, conversation, step, number)
    return Choice(position, _answer(script, conversation, position, step.usage, text, calls))


def _session(script: Script, conversation: Conversation) -> tuple[int, Sequence[Step], Sequence[Fault], int]:
    """The session whose `when` was said last by the user, with the results that came after it."""
    results = 0
    for message in reversed(conversation.messages):
        results += message.kind == "result"
        if message.kind != "user":
            continue
        for number, session in enumerate(script.sessions, 1):
            if session.when in message.text:
                return number, session.steps, session.faults, results
    return 0, script.steps, script.faults, conversation.results


def _reached(steps: Sequence[Step], results: int) -> int:
    """The number of the first step whose calls have not all been answered; one more than there are, after the last."""
    for number, step in enumerate(steps, 1):
        results -= len(step.all_calls)
        if results < 0 or not step.all_calls:
            return number
    return len(steps) + 1


def _told(script: Script, conversation: Conversation, step: Step, number: int) -> tuple[str, tuple[ToolCall, ...]]:
    if step.expect and not any(step.expect in text for text in conversation.last_results):
        text, wanted = f"I stop at step {number}: the last result does not hold {step.expect!r}.", []
    else:
        why = step.say.strip() or f"Step {number}"
        text = step.say
        wanted = [chosen(call, conversation.tools, script.project, why) for call in step.all_calls]
    if not wanted and (command := finishing(conversation)):
        wanted = [chosen(Call(run=command), conversation.tools, script.project, text)]
    calls = (
        ToolCall(f"call_{number:03}_{index}", one.name, json.dumps(one.arguments, ensure_ascii=False), one.namespace)
        for index, one in enumerate(wanted, 1)
    )
    return text, tuple(calls)


def _wants_blocks(conversation: Conversation) -> bool:
    return bool(conversation.messages) and BLOCKS_WANTED in conversation.messages[0].text


def _blocks(steps: Sequence[Step], conversation: Conversation) -> tuple[int, str]:
    """Every change of the script that the model has not answered yet, as one text; after that the last word."""
    said = "\n".join(message.text for message in conversation.messages if message.kind == "assistant")
    first, parts = 0, []
    for number, step in enumerate(steps, 1):
        blocks = [_block(*change) for change in _changes(step)]
        if blocks and any(block not in said for block in blocks):
            first = first or number
            parts += [step.say, *blocks]
    if not parts:
        return len(steps), steps[-1].say or DONE
    return first, "\n\n".join(part for part in parts if part)


def _changes(step: Step) -> list[tuple[str, str, str]]:
    edits = [(call.edit.file, call.edit.old, call.edit.new) for call in step.all_calls if call.edit]
    return edits + [(call.write.file, "", call.write.text) for call in step.all_calls if call.write]


def _block(file: str, old: str, new: str) -> str:
    def lines(text: str) -> str:
        return text if not text or text.endswith("\n") else f"{text}\n"

    return f"{file}\n```\n<<<<<<< SEARCH\n{lines(old)}=======\n{lines(new)}>>>>>>> REPLACE\n```"


def _answer(
    script: Script,
    conversation: Conversation,
    position: Position,
    declared: Usage,
    text: str,
    calls: tuple[ToolCall, ...],
) -> Answer:
    length = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
    return Answer(
        id=f"{position.step}_{_digest(conversation)}",
        model=script.model or conversation.model,
        text=text,
        calls=calls,
        usage=counts(declared, script.usage, conversation.size, length),
    )


def _digest(conversation: Conversation) -> str:
    """Tells apart answers to different requests, and is the same for a request that is sent again."""
    said = json.dumps([[message.kind, message.text] for message in conversation.messages])
    return hashlib.sha256(f"{conversation.wire} {conversation.model} {said}".encode()).hexdigest()[:12]
