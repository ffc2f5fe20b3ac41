"""What a cohort fixes before its first run: constitution, controls, gates, and what the candidates differ in.

The ten items of a constitution and the eight controls are fields, so that a missing one is found by a machine. A draft
may leave any of them out; a confirmatory cohort none.
"""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.api.base import Line, Model, Name, Paragraph, Sentence, Sha256, Word, matching, unique_names
from fairtrial.api.decision import Metric

# What candidates may differ in. Those of the first row are parts of a candidate; the others are what it works under.
Part = Literal["image", "argv", "env", "stdin", "files", "homeFiles", "adapter", "collect"]
Circumstance = Literal["layer", "model", "protocol", "surface", "authority", "tools", "fixture", "innerRuntime"]
Aspect = Literal[
    "image", "argv", "env", "stdin", "files", "homeFiles", "adapter", "collect",
    "layer", "model", "protocol", "surface", "authority", "tools", "fixture", "innerRuntime", "other",
]  # fmt: skip


class Confounder(Model):
    """A difference between candidates, besides the one that is asked about, that was not removed."""

    aspect: Aspect
    """What the candidates differ in."""
    says: Annotated[str, Field(min_length=1, max_length=1024)]
    """How they differ, and what that may do to the result."""


class Treatment(Model):
    """The difference that the cohort asks about."""

    says: Annotated[str, Field(min_length=1, max_length=1024)]
    """What the treatment is, in a sentence."""
    parts: Annotated[tuple[Part, ...], Field(max_length=8)] = ()
    """The parts of a candidate that the treatment changes; image covers version. A mechanism comparison may differ in
    nothing else."""


class Constitution(Model):
    """The rules, fixed before the first run: ten items, by their numbers. A confirmatory cohort states all."""

    edition: Word = ""
    """Edition of this constitution, for people."""
    question: Sentence = ""
    """1. The question that the cohort answers."""
    permitted_claim: Sentence = ""
    """1. The claim that a result may support, and no other."""
    task_population: Sentence = ""
    """2. What the tasks stand for."""
    sampling: Sentence = ""
    """2. How the tasks were chosen from what they stand for."""
    surface: Sentence = ""
    """3. Through what the candidates are driven, and what of their configuration is in effect; spec.candidates pins
    versions and files."""
    model_access: Sentence = ""
    """4. Tokenizer, endpoint and retry policy of model calls, or that there are none; the controls fix the model."""
    authority: Sentence = ""
    """5. Capabilities, tool schemas, approvals, sandbox and network."""
    budgets: Sentence = ""
    """6. Budgets, and what ends a run."""
    primary_metrics: Annotated[tuple[Metric, ...], Field(max_length=16)] = ()
    """7. Metrics that the decision rule reads."""
    secondary_metrics: Annotated[tuple[Word, ...], Field(max_length=64)] = ()
    """7. Metrics that are reported besides."""
    hard_failures: Annotated[tuple[Sentence, ...], Field(max_length=32)] = ()
    """7. What no other result can offset."""
    exclusions: Sentence = ""
    """8. Which failures of the infrastructure are excluded; spec.replacement has their codes."""
    intervals: Sentence = ""
    """9. How intervals are made; spec.repetitions and spec.schedule have number, order and seed."""
    artifacts: Annotated[tuple[Sentence, ...], Field(max_length=32)] = ()
    """10. What somebody else needs to reproduce the result."""
    confounders: Annotated[tuple[Confounder, ...], Field(max_length=32)] = ()
    """Differences between candidates that were not removed; an endToEnd cohort must declare them."""
    text: Paragraph = ""
    """Anything else, in prose."""


class Controls(Model):
    """The eight things that are held equal, each in a sentence. A confirmatory cohort states all."""

    task_fixture: Sentence = ""
    """Initial state of each task, by hash or immutable image."""
    model: Sentence = ""
    """Provider, identifier and exact revision of the model, or that there is none."""
    model_parameters: Sentence = ""
    """Temperature, sampling, reasoning and limits of model calls."""
    starting_state: Sentence = ""
    """What a run begins with: history, memory, caches and files."""
    tool_authority: Sentence = ""
    """Manifest and schemas of tools, approvals, and what the executor may do."""
    network_policy: Sentence = ""
    """What may be reached, and how connections are observed."""
    time_budget: Sentence = ""
    """Whose clock counts, and what happens when time is over."""
    token_budget: Sentence = ""
    """How input, output and cache are counted against the budget."""


class Evidence(Model):
    """A document that shows something, by address and digest."""

    uri: Annotated[
        str,
        Field(max_length=1024),
        matching(r"[a-z][a-z0-9+.-]*:\S+", "uri must be an address with a scheme, such as https:// or s3://."),
    ]
    """Where the document is."""
    sha256: Sha256
    """SHA-256 of the document."""
    says: Line = ""
    """What it shows."""


class Gate(Model):
    """Something that must be shown before results may be used."""

    name: Name
    """Name of the gate, by which the decision rule refers to it."""
    says: Sentence
    """What must be shown."""
    needed: Literal["seal", "verdict"] = "seal"
    """What can't happen without evidence: sealing a confirmatory cohort, or a verdict."""
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=16)] = ()
    """What shows it; empty while nothing does."""


Gates = Annotated[tuple[Gate, ...], Field(max_length=32), unique_names("two gates")]
