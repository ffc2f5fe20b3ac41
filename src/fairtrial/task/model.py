"""The YAML that task authors write, as pydantic models: `task.yaml` and `sealed/evaluation.yaml`.

Each kind of check is a model of its own, so that a field which means nothing for a kind is refused, not ignored.
Pods never see these: packing turns them into fairtrial.task.packed.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from fairtrial.api import Category
from fairtrial.api.decision import RuntimeMetric


def _relative(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "" in parts[:-1] or "\\" in path or "\0" in path:
        raise ValueError("must be a relative path with / and without ..")
    return path.rstrip("/")


def _regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return pattern


Label = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=40)]
EnvName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
Path = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_relative)]
Glob = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_relative)]
Regex = Annotated[str, Field(max_length=1000), AfterValidator(_regex)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(min_length=1, max_length=400)]
Argv = Annotated[list[Annotated[str, Field(min_length=1, max_length=4000)]], Field(min_length=1, max_length=64)]
ExitCodes = Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=1, max_length=16)]
Seconds = Annotated[int, Field(ge=1, le=86400)]
CheckSeconds = Annotated[int, Field(ge=1, le=7200)]

Family = Literal["feature", "typeFix", "rename", "apiChange", "testAddition", "defect", "measurement", "other"]


class Model(BaseModel):
    """camelCase keys, nothing unknown, nothing silently converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, strict=True)


# --- task.yaml --------------------------------------------------------------------------------------------------------
class Step(Model):
    """One prompt with its budget."""

    name: Label
    prompt_file: Path
    wall_seconds: Seconds


class Preflight(Model):
    """A command that must end so in the agent's pod before the agent starts."""

    name: Label
    argv: Argv
    expect_exit: ExitCodes = [0]
    timeout_seconds: CheckSeconds = 120


class PinnedVersion(Model):
    """One released version, by the digest of its archive."""

    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!_-]*$", max_length=80)]
    sha256: Sha256


class Selection(Model):
    """Which files of an archive are taken."""

    include: Annotated[list[Glob], Field(min_length=1)]
    exclude: list[Glob] = []


class Source(Model):
    """A fixture, reference and hidden tests made from pinned source archives of a registry."""

    registry: Literal["pypi", "npm"]
    package: Annotated[str, Field(pattern=r"^(@[a-z0-9._-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
    base: PinnedVersion
    solution: PinnedVersion
    project: Selection
    reference: Selection
    tests: Selection | None = None


class TaskFile(Model):
    """`task.yaml`: everything about a task that the agent may know."""

    name: Label
    version: Annotated[int, Field(ge=1)]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    family: Family
    language: Annotated[str, Field(min_length=1, max_length=40)]
    public_criteria: Annotated[list[Text], Field(max_length=20)] = []
    wall_seconds: Seconds | None = None
    steps: Annotated[list[Step], Field(min_length=1, max_length=16)] | None = None
    evaluate_seconds: Seconds | None = None
    evaluator_image: Annotated[str, Field(min_length=1, max_length=400)]
    agent_image: Annotated[str, Field(max_length=400)] = ""  # for whoever writes a run of this task
    preflight: Annotated[list[Preflight], Field(max_length=16)] = []
    tool_servers: Annotated[list[Label], Field(max_length=16)] = []
    generated: list[Glob] = []
    protected: list[Glob] = []
    editable: list[Glob] = []
    source: Source | None = None

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        if (self.wall_seconds is None) == (self.steps is None):
            raise ValueError("give either wallSeconds or steps")
        return self


# --- sealed/evaluation.yaml -------------------------------------------------------------------------------------------
class LauncherProbe(Model):
    """A command that shows that the tool under which submissions run is there; its failure is invalid, not failed."""

    argv: Argv
    pattern: Regex = ""
    timeout_seconds: CheckSeconds = 60


class Overlay(Model):
    """A sealed folder that is laid over the project."""

    name: Label
    overlay: Path


class Pattern(Model):
    """A regular expression that may occur in none of the files that the glob names."""

    glob: Glob
    pattern: Regex


class Target(Model):
    """The declaration that submitted tests are about."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    file: Path


class _Check(Model):
    name: Label
    category: Category
    timeout_seconds: CheckSeconds = 120
    negative_control: bool = False


class _Process(_Check):
    argv: Argv
    cwd: Path = "."
    env: dict[EnvName, str] = {}
    inject: dict[Path, Path] = {}
    remove: list[Path] = []


class _Results(_Process):
    sentinel: Literal["pytest", "node", "none"]

    @model_validator(mode="after")
    def _placeholders(self) -> Self:
        text = " ".join(self.argv)
        if "{results}" not in text:
            raise ValueError("argv must hold {results}: the path that machine-readable results are written to")
        if (self.sentinel != "none") != ("{sentinel}" in self.argv):
            raise ValueError("argv must hold {sentinel} as an item of its own exactly when sentinel is pytest or node")
        return self


class CommandCheck(_Process):
    """Judged by exit code; and by the nonce that comes back, where argv holds {results}."""

    kind: Literal["command"]
    expect_exit: ExitCodes = [0]


class ResultsCheck(_Results):
    """Judged by JUnit XML or TAP."""

    kind: Literal["junit", "tap"]
    expect_tests: Annotated[list[Text], Field(max_length=2000)] = []
    min_tests: Annotated[int, Field(ge=1)] = 1


class MutantsCheck(_Results):
    """The submitted tests must pass on correct code and reject each wrong one."""

    kind: Literal["mutants"]
    results: Literal["junit", "tap"]
    tests: Annotated[list[Glob], Field(min_length=1)]
    target: Target
    reference: Annotated[str, AfterValidator(_relative)] = ""
    mutants: Annotated[list[Overlay], Field(min_length=3, max_length=30)]
    equivalents: Annotated[list[Overlay], Field(max_length=10)] = []
    independent: bool = True

    @model_validator(mode="after")
    def _tests_in_argv(self) -> Self:
        if "{tests}" not in self.argv:
            raise ValueError("argv must hold {tests} as an item of its own")
        return self


class MustNotCompileCheck(_Process):
    """Sources that a compiler or type checker must refuse, beside a control that it must accept."""

    kind: Literal["mustNotCompile"]
    control: Overlay
    sources: Annotated[list[Overlay], Field(min_length=1, max_length=20)]
    reject_exit: ExitCodes = [1]
    diagnostic: Regex = ""


class UnchangedCheck(_Check):
    """Files that must be as in the fixture."""

    kind: Literal["unchanged"]
    paths: Annotated[list[Glob], Field(min_length=1)]
    negative_control: Literal[False] = False  # the fixture is equal to itself


class AbsentCheck(_Check):
    """Files that may not exist, and patterns that may not occur."""

    kind: Literal["absent"]
    paths: list[Glob] = []
    patterns: list[Pattern] = []

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.paths and not self.patterns:
            raise ValueError("name paths or patterns that must be absent")
        return self


class MeasurementCheck(_Process):
    """Measures a process, again and again, each time a new one on a fresh copy; passed if every sample was taken."""

    kind: Literal["measurement"]
    metric: RuntimeMetric
    measure: Literal["wall", "results"] = "wall"
    warm_up: Annotated[int, Field(ge=0, le=100)] = 1
    samples: Annotated[int, Field(ge=1, le=200)] = 15
    expect_exit: ExitCodes = [0]
    negative_control: Literal[False] = False  # there is nothing wrong with the fixture

    @model_validator(mode="after")
    def _measurable(self) -> Self:
        # The kernel's own count of a child's memory begins with that of its parent, so that only the process knows.
        if self.metric.endswith("_bytes") and self.measure == "wall":
            raise ValueError(f"measure wall can't give {self.metric}; let the process write it to {{results}}")
        if (self.measure == "results") != ("{results}" in " ".join(self.argv)):
            raise ValueError("argv must hold {results} exactly when measure is results: there the samples are written")
        return self


AnyCheck = Annotated[
    CommandCheck | ResultsCheck | MutantsCheck | MustNotCompileCheck | UnchangedCheck | AbsentCheck | MeasurementCheck,
    Field(discriminator="kind"),
]


class EvaluationFile(Model):
    """`sealed/evaluation.yaml`: how a submission is judged."""

    launcher: Argv
    launcher_probe: LauncherProbe | None = None
    env: dict[EnvName, str] = {}
    reference: Path = "reference"
    reference_removes: list[Path] = []
    mutants: Annotated[list[Overlay], Field(max_length=30)] = []
    checks: Annotated[list[AnyCheck], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [check.name for check in self.checks]
        if len(set(names)) != len(names):
            raise ValueError("checks must have different names")
        return self
