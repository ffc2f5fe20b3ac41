"""The five kinds of `fairtrial.dev/v1alpha1` as models: strict where users write, tolerant where the operator does."""

from fairtrial.api.base import Model, ObjectMeta, Observation, Rule, digest, quantity_value
from fairtrial.api.candidate import Candidate, EnvironmentVariable
from fairtrial.api.cohort import BenchmarkCohort, BenchmarkCohortSpec, BenchmarkCohortStatus
from fairtrial.api.conditions import Condition, Reason, condition, find_condition, is_true, set_condition
from fairtrial.api.provider import ModelProvider, ModelProviderSpec
from fairtrial.api.reading import KINDS, parse
from fairtrial.api.resource_class import Deadlines, ResourceClass, ResourceClassSpec
from fairtrial.api.run import (
    BenchmarkRun,
    BenchmarkRunSpec,
    BenchmarkRunStatus,
    Cancel,
    Category,
    Cause,
    ContainerFacts,
    Invalidity,
    Outcome,
    Phase,
    PodFacts,
    PodStatus,
    RecordReference,
    ResolvedResourceClass,
    ResolvedTask,
    RunTimestamps,
    TaskRef,
)
from fairtrial.api.task import Archive, BenchmarkTask, BenchmarkTaskSpec, PreflightCommand, TaskStep

__all__ = [
    "KINDS",
    "Archive",
    "BenchmarkCohort",
    "BenchmarkCohortSpec",
    "BenchmarkCohortStatus",
    "BenchmarkRun",
    "BenchmarkRunSpec",
    "BenchmarkRunStatus",
    "BenchmarkTask",
    "BenchmarkTaskSpec",
    "Cancel",
    "Candidate",
    "Category",
    "Cause",
    "Condition",
    "ContainerFacts",
    "Deadlines",
    "EnvironmentVariable",
    "Invalidity",
    "Model",
    "ModelProvider",
    "ModelProviderSpec",
    "ObjectMeta",
    "Observation",
    "Outcome",
    "Phase",
    "PodFacts",
    "PodStatus",
    "PreflightCommand",
    "Reason",
    "RecordReference",
    "ResolvedResourceClass",
    "ResolvedTask",
    "ResourceClass",
    "ResourceClassSpec",
    "Rule",
    "RunTimestamps",
    "TaskRef",
    "TaskStep",
    "condition",
    "digest",
    "find_condition",
    "is_true",
    "parse",
    "quantity_value",
    "set_condition",
]
