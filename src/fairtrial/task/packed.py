"""What a task's two archives hold as JSON: `task.json` for everybody, `evaluation.json` for the evaluator alone.

Standard library only: evaluator pods read these. People write YAML (fairtrial.task.model); packing turns it into this.
"""

from dataclasses import dataclass, field
from typing import Literal

PUBLIC_FILE = "task.json"
EVALUATION_FILE = "evaluation.json"
CANARY_FILE = "canary.txt"
PROJECT = "project"
MEASUREMENT = "measurement"  # the family of tasks in which there is nothing to solve
REQUEST = "TASK.md"

# Files that decide how tests run, or that a test runner loads unasked. A fixture's own are restored; others removed.
DEFAULT_PROTECTED = (
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "mypy.ini",
    ".mypy.ini",
    "package.json",
    "tsconfig.json",
    "tsconfig.*.json",
    ".npmrc",
    "jest.config.*",
    "vitest.config.*",
    ".mocharc*",
    "**/__pycache__/**",
    "*.pyc",
    "node_modules/**",
    # A module of this name in the project would be imported in place of the tool that judges it.
    "pytest.py",
    "pytest/**",
    "_pytest/**",
    "unittest.py",
    "unittest/**",
    "mypy.py",
    "mypy/**",
)
GENERATED = ("**/__pycache__/**",)

CheckKind = Literal["command", "junit", "tap", "mutants", "mustNotCompile", "unchanged", "absent", "measurement"]


@dataclass(frozen=True)
class PackedStep:
    """One prompt with its budget."""

    name: str
    prompt: str
    wall_seconds: int


@dataclass(frozen=True)
class PublicTask:
    """The public part: what the agent may know, and which paths it cannot change."""

    name: str
    version: int
    title: str
    family: str
    language: str
    steps: list[PackedStep]
    public_criteria: list[str] = field(default_factory=list)
    generated: list[str] = field(default_factory=list)
    protected: list[str] = field(default_factory=list)  # complete: the defaults are already in it
    schema_version: int = 1


@dataclass(frozen=True)
class LauncherProbe:
    """A command that shows that the tool under which submissions run is there and speaks as expected."""

    argv: list[str]
    pattern: str = ""
    timeout_seconds: int = 60


@dataclass(frozen=True)
class Overlay:
    """A sealed folder that is laid over the project."""

    name: str
    overlay: str


@dataclass(frozen=True)
class Pattern:
    """A regular expression that may occur in none of the files that the glob names."""

    glob: str
    pattern: str


@dataclass(frozen=True)
class Target:
    """The declaration that submitted tests are about."""

    name: str
    file: str


@dataclass(frozen=True)
class Check:
    """One check. Which fields matter depends on `kind`; fairtrial.task.model says which, and refuses the others."""

    name: str
    kind: CheckKind
    category: str
    timeout_seconds: int = 120
    negative_control: bool = False
    argv: list[str] = field(default_factory=list)
    cwd: str = "."
    env: dict[str, str] = field(default_factory=dict)
    inject: dict[str, str] = field(default_factory=dict)
    remove: list[str] = field(default_factory=list)
    sentinel: Literal["pytest", "node", "none"] = "none"
    expect_exit: list[int] = field(default_factory=lambda: [0])  # command
    expect_tests: list[str] = field(default_factory=list)  # junit, tap
    min_tests: int = 1
    results: Literal["junit", "tap"] = "junit"  # mutants
    tests: list[str] = field(default_factory=list)
    target: Target | None = None
    reference: str = ""
    mutants: list[Overlay] = field(default_factory=list)
    equivalents: list[Overlay] = field(default_factory=list)
    independent: bool = True
    control: Overlay | None = None  # mustNotCompile
    sources: list[Overlay] = field(default_factory=list)
    reject_exit: list[int] = field(default_factory=lambda: [1])
    diagnostic: str = ""
    paths: list[str] = field(default_factory=list)  # unchanged, absent
    patterns: list[Pattern] = field(default_factory=list)
    metric: str = ""  # measurement
    measure: Literal["wall", "results"] = "wall"
    warm_up: int = 0
    samples: int = 0


@dataclass(frozen=True)
class Evaluation:
    """The sealed part: how a submission is judged."""

    launcher: list[str]
    checks: list[Check]
    launcher_probe: LauncherProbe | None = None
    env: dict[str, str] = field(default_factory=dict)
    reference: str = "reference"
    reference_removes: list[str] = field(default_factory=list)
    mutants: list[Overlay] = field(default_factory=list)
    schema_version: int = 1


def worst_case_seconds(evaluation: Evaluation) -> int:
    """How long all checks may take if every process runs to its deadline; test files count as three."""
    total = evaluation.launcher_probe.timeout_seconds if evaluation.launcher_probe else 0
    for check in evaluation.checks:
        total += check.timeout_seconds * _runs(check) * (2 if check.negative_control else 1)
    return total


def _runs(check: Check) -> int:
    if check.kind in {"unchanged", "absent"}:
        return 0
    if check.kind == "mutants":
        return 1 + len(check.mutants) + len(check.equivalents) + (3 if check.independent else 0)
    if check.kind == "mustNotCompile":
        return 1 + len(check.sources)
    if check.kind == "measurement":
        return check.warm_up + check.samples
    # Results that cannot be read are looked at once more, on the fixture, to tell whose fault that is.
    return 1 if check.kind == "command" else 2
