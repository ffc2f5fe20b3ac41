"""`BenchmarkTask`: a versioned unit of work and the digests of its public and sealed archives.

Made by `fairtrial task push`. The sealed part itself never lies in the API: only its digest does.
"""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial import names
from fairtrial.api.base import (
    Argv,
    ExitCode,
    Glob,
    Image,
    Model,
    Name,
    ObjectMeta,
    Rule,
    Seconds,
    Sentence,
    Sha256,
    Word,
    named,
    unique_names,
)


class Archive(Model):
    """An archive in the evidence store, found by its digest."""

    sha256: Sha256
    """SHA-256 of the archive, 64 lower-case hex digits."""
    size: Annotated[int, Field(strict=True, ge=1, le=2**40)]
    """Size of the archive in bytes."""


class TaskStep(Model):
    """One unit of interaction: one prompt with its own time."""

    name: Name
    """Name of the step, unique in the task."""
    prompt: Annotated[str, Field(min_length=1, max_length=32768)]
    """What the agent is asked, word for word; at most 32,768 characters."""
    wall_seconds: Seconds
    """Seconds that the agent has for this step, from the start of its program."""


class PreflightCommand(Model):
    """A command that proves, before the agent starts, that the fixture is in the state that the task says."""

    name: Name
    """Name of the command, unique in the task."""
    argv: Argv
    """Program and arguments, run in the project's folder; no shell reads them."""
    expect_exit: Annotated[
        tuple[ExitCode, ...],
        Field(max_length=16),
        Rule("self.size() > 0", "expectExit must name at least one exit code, such as [0].", bool),
    ]
    """The exit codes that prove the state; a fixture with a defect may well be expected to fail."""
    timeout_seconds: Seconds = 120
    """Seconds after which the command counts as failed."""


class TaskLimits(Model):
    """Limits over all steps of a task."""

    wall_seconds: Seconds
    """Seconds that all steps may take together."""


def _all_different(items: tuple[str, ...]) -> bool:
    return len(set(items)) == len(items)


class BenchmarkTaskSpec(Model):
    """What is asked, how long it may take, and the digests of everything that it needs."""

    version: Annotated[int, Field(strict=True, ge=1, le=1000000)]
    """Version of the task; a change of anything makes a new version under a new name."""
    title: Annotated[str, Field(min_length=1, max_length=200)]
    """What the task is about, in one line."""
    family: Literal["feature", "typeFix", "rename", "apiChange", "testAddition", "defect", "measurement", "other"]
    """Kind of work, by which results are grouped."""
    language: Word
    """Main programming language of the fixture, such as python."""
    public_archive: Archive
    """What the agent gets: the request, the fixture and the public part of the task."""
    sealed_archive: Archive
    """What only the evaluator gets: hidden checks, mutants, the reference solution."""
    evaluator_image: Image
    """Image that the checks run in, by digest."""
    steps: Annotated[
        tuple[TaskStep, ...],
        Field(max_length=16),
        Rule("self.size() > 0", "steps must hold at least one step with a name, a prompt and wallSeconds.", bool),
        unique_names("two steps"),
    ]
    """The prompts in their order; most tasks have one."""
    preflight: Annotated[
        tuple[PreflightCommand, ...], Field(max_length=16), unique_names("two preflight commands")
    ] = ()
    """Commands that prove the fixture's state before the agent starts."""
    generated: Annotated[tuple[Glob, ...], Field(max_length=64)] = ()
    """Globs of generated files: reported apart in the diff, never dropped."""
    evaluate_seconds: Seconds = 1800
    """Seconds that the whole evaluation may take."""
    limits: TaskLimits | None = None
    """Limits over all steps; without them the steps' own times are all there is."""
    tool_servers: Annotated[
        tuple[Name, ...],
        Field(max_length=16),
        Rule("self.all(x, self.exists_one(y, y == x))", "toolServers must not name one twice.", _all_different),
    ] = ()
    """HTTP tool servers, such as MCP servers, that the agent may reach through the gateway, by the names that the
    administrator gave them."""
    public_criteria: Annotated[tuple[Sentence, ...], Field(max_length=64)] = ()
    """Acceptance criteria that the agent may read."""


class BenchmarkTask(Model):
    """A versioned task for agents: the request, its limits, and the digests of its archives. Immutable."""

    rules = named(names.NAME_MAX, "because labels hold no more")

    api_version: Literal["fairtrial.dev/v1alpha1"] = "fairtrial.dev/v1alpha1"
    kind: Literal["BenchmarkTask"] = "BenchmarkTask"
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: Annotated[
        BenchmarkTaskSpec,
        Rule("self == oldSelf", "spec of a task can't change; push the task under a new version and name."),
    ]
    """What is asked, how long it may take, and the digests of everything that it needs. Can't change."""
