"""The script that a person writes: steps that an agent is led through, and what goes wrong on the way.

docs/scripted-provider.md shows the format. Everything here is plain data; choose.py says what it means for a request.
"""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from fairtrial import names
from fairtrial.errors import InvalidInput
from fairtrial.scripted.faults import Fault
from fairtrial.task.load import read_yaml, validated
from fairtrial.task.model import Model

Said = Annotated[str, Field(max_length=1_000_000)]
FilePath = Annotated[str, Field(min_length=1, max_length=1000)]
Tokens = Annotated[int, Field(ge=0, le=1_000_000_000_000)]
MAX_STEPS = 200


class Edit(Model):
    """Replace `old`, which is in the file exactly once, by `new`. Both are whole lines: some agents patch by lines."""

    file: FilePath
    old: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    new: Said


class Write(Model):
    """Make a file hold `text`."""

    file: FilePath
    text: Said


class RawTool(Model):
    """A tool by its own name, for what no intent says."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: Annotated[dict[str, Any], Field(default_factory=dict)]


class Call(Model):
    """One thing to do. Exactly one of the fields is set."""

    read: FilePath | None = None
    edit: Edit | None = None
    write: Write | None = None
    run: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    tool: RawTool | None = None

    def intents(self) -> list[str]:
        """The fields that are set."""
        return [name for name in ("read", "edit", "write", "run", "tool") if getattr(self, name) is not None]

    @model_validator(mode="after")
    def _one(self) -> Self:
        if type(self) is Call and len(self.intents()) != 1:
            raise ValueError("needs exactly one of read, edit, write, run and tool")
        return self


class Usage(Model):
    """What an answer costs. A field that is left out is counted by the rule in usage.py; nothing overlaps, except
    that `output` includes `reasoning`."""

    uncached_input: Tokens | None = None
    cached_input: Tokens | None = None
    cache_write: Tokens | None = None
    output: Tokens | None = None
    reasoning: Tokens | None = None


class Step(Call):
    """What the model says and does next: text, and one call or several at once. A step without calls is the end."""

    say: Said = ""
    calls: Annotated[list[Call], Field(max_length=16, default_factory=list)]
    expect: Annotated[str, Field(max_length=10_000)] = ""
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        intents = self.intents()
        if len(intents) + bool(self.calls) > 1:
            raise ValueError(f"has {', '.join([*intents, *['calls'] * bool(self.calls)])}: put several into `calls`")
        if not intents and not self.calls and not self.say:
            raise ValueError("needs `say`, or one of read, edit, write, run, tool and calls")
        return self

    @property
    def all_calls(self) -> list[Call]:
        """The calls of this step, however they are written."""
        if self.calls:
            return self.calls
        return [Call(**{name: getattr(self, name)}) for name in self.intents()]


class Session(Model):
    """Steps for requests that came after a prompt with `when` in it: the next prompt of a task, or a sub-agent's."""

    when: Annotated[str, Field(min_length=1, max_length=10_000)]
    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_STEPS)]
    faults: Annotated[list[Fault], Field(max_length=MAX_STEPS, default_factory=list)]


class Pace(Model):
    """How an answer is streamed: so many characters of text in an event, so long between events."""

    chars: Annotated[int, Field(ge=1, le=1_000_000)] = 40
    ms: Annotated[int, Field(ge=0, le=600_000)] = 0
    first_ms: Annotated[int, Field(ge=0, le=600_000)] = 0


class Script(Model):
    """A whole script. Requests that match no session follow `steps`; requests without tools are told `plain`."""

    model: Annotated[str, Field(max_length=200)] = ""
    project: Annotated[str, Field(min_length=1, max_length=1000, pattern="^/")] = names.PROJECT_DIR
    plain: Annotated[str, Field(min_length=1, max_length=1_000_000)] = "Scripted session"
    usage: Usage = Usage()
    pace: Pace = Pace()
    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_STEPS)]
    faults: Annotated[list[Fault], Field(max_length=MAX_STEPS, default_factory=list)]
    sessions: Annotated[list[Session], Field(max_length=64, default_factory=list)]


def read_script(path: Path) -> Script:
    """A script from a YAML file; an error names the file and the field."""
    return parse_script(read_yaml(path), str(path))


def parse_script(data: Any, where: str = "script") -> Script:
    """A script from plain data, as tests write it. `where` begins the sentence of an error."""
    script = validated(Script, data, where)
    _check_steps(script.steps, script.faults, f"{where}: ")
    for number, session in enumerate(script.sessions):
        _check_steps(session.steps, session.faults, f"{where}: sessions.{number}.")
    return script


def _check_steps(steps: list[Step], faults: list[Fault], where: str) -> None:
    """Refuse steps that no agent would get past, and faults of steps that are not there."""
    for number, step in enumerate(steps[:-1]):
        if not step.all_calls:
            raise InvalidInput(f"{where}steps.{number}: calls nothing, so an agent ends there; only the last step may.")
    for number, fault in enumerate(faults):
        if not isinstance(fault.step, int):
            continue
        if fault.step > len(steps):
            raise InvalidInput(f"{where}faults.{number}.step: is {fault.step}, but there are {len(steps)} steps.")
        if fault.needs_call and not steps[fault.step - 1].all_calls:
            raise InvalidInput(f"{where}faults.{number}.step: step {fault.step} calls nothing that could be spoilt.")
