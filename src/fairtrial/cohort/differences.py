"""What the candidates of a cohort differ in: parts of themselves, and circumstances that they work under. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from fairtrial.api.base import digest
from fairtrial.api.cohort import BenchmarkCohortSpec, CohortCandidate, CohortTask
from fairtrial.api.constitution import Circumstance, Part

PARTS: tuple[str, ...] = get_args(Part)
CIRCUMSTANCES: tuple[str, ...] = get_args(Circumstance)

_SHOWN = 60  # characters of a value in a sentence
_AS_CONTROLS = "what the controls say"


@dataclass(frozen=True)
class Difference:
    """One aspect in which not all candidates are alike, with what each of them has, in a few words."""

    aspect: str
    values: Mapping[str, str]

    @property
    def is_part(self) -> bool:
        """Whether it is of the candidates themselves, and not of what they work under."""
        return self.aspect in PARTS

    def __str__(self) -> str:
        return f"{self.aspect} ({'; '.join(f'{name}: {value}' for name, value in self.values.items())})"


def differences(spec: BenchmarkCohortSpec) -> list[Difference]:
    """Every aspect in which the candidates differ, circumstances first."""
    found = []
    for aspect in (*CIRCUMSTANCES, *PARTS):
        values = {candidate.name: _value(spec, candidate, aspect) for candidate in spec.candidates}
        if len({digest(value) for value in values.values()}) > 1:
            found.append(Difference(aspect, {name: _brief(value) for name, value in values.items()}))
    return found


def provider_of(spec: BenchmarkCohortSpec, candidate: CohortCandidate) -> str:
    """Name of the ModelProvider of a candidate's runs; empty if they have none."""
    own, common = candidate.model_provider_ref, spec.execution.network.model_provider_ref
    chosen = own or common
    return chosen.name if chosen else ""


def fixture_of(task: CohortTask, candidate: str) -> tuple[str, str, str]:
    """Name, public and sealed digest of the task as this candidate gets it."""
    for variant in task.variants:
        if variant.candidate == candidate:
            return variant.name, variant.public_sha256, variant.sealed_sha256
    return task.name, task.public_sha256, task.sealed_sha256


def _value(spec: BenchmarkCohortSpec, candidate: CohortCandidate, aspect: str) -> Any:
    if aspect == "model":
        return provider_of(spec, candidate) or "none"
    if aspect == "fixture":
        return [list(fixture_of(task, candidate.name)) for task in spec.tasks]
    if aspect in CIRCUMSTANCES:
        stated = candidate.under.as_json()[aspect]
        return sorted(stated) if isinstance(stated, list) else stated
    as_json = candidate.as_json()
    return f"{candidate.image}, version {candidate.version}" if aspect == "image" else as_json.get(aspect)


def _brief(value: Any) -> str:
    if value in ("", [], {}, None):
        return _AS_CONTROLS if value == "" else "none"
    text = value if isinstance(value, str) else ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        text = " ".join(value)
    if text and len(text) <= _SHOWN:
        return repr(text)
    return f"SHA-256 {digest(value)[:12]}…"
