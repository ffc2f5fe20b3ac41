"""What the candidates of a cohort differ in: parts of themselves, and circumstances that they work under. Pure."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from fairtrial.api.base import digest
from fairtrial.api.cohort import BenchmarkCohortSpec, CohortCandidate, CohortTask
from fairtrial.api.constitution import Circumstance, Part

PARTS: tuple[str, ...] = get_args(Part)
CIRCUMSTANCES: tuple[str, ...] = get_args(Circumstance)

SHOWN_MAX = 60  # characters of a value in a sentence
_MARK = re.compile(r"[\s,{}\[\]]")  # where a text may be cut without tearing a word
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
            found.append(Difference(aspect, told_apart({name: _text(value) for name, value in values.items()})))
    return found


def told_apart(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts for a sentence: as they are if all are short, or one; else what not all share, with … for the rest."""
    if len(set(texts.values())) == 1 or all(len(text) <= SHOWN_MAX for text in texts.values()):
        return dict(texts)
    ours = list(texts.values())
    start = _word_before(ours[0], _common(ours))
    rests = [text[start:] for text in ours]
    shared = _common([rest[::-1] for rest in rests])
    shared -= _word_after(rests[0][len(rests[0]) - shared :])
    parts = [rest[: len(rest) - shared] for rest in rests]
    if any(len(part) > SHOWN_MAX for part in parts) and len({part[:SHOWN_MAX] for part in parts}) < len(set(ours)):
        return {name: f"SHA-256 {digest(text)[:12]}…" for name, text in texts.items()}  # they differ further on
    return {name: _cut(part, more=(start > 0, shared > 0)) for name, part in zip(texts, parts, strict=True)}


def _cut(part: str, *, more: tuple[bool, bool]) -> str:
    """A part of a text, with … where there is more of it: before, and after."""
    before, after = more
    shown = f"{part[:SHOWN_MAX]}{'…' if after or len(part) > SHOWN_MAX else ''}"
    return f"…{shown}" if before and part else shown or "…"


def _common(texts: Sequence[str]) -> int:
    """How many characters all texts begin with alike."""
    alike = (len(set(characters)) == 1 for characters in zip(*texts, strict=False))
    return sum(itertools.takewhile(bool, alike))


def _word_before(text: str, end: int) -> int:
    """Where the word begins in which `end` lies, if that is near."""
    marks = [mark.end() for mark in _MARK.finditer(text, max(0, end - SHOWN_MAX // 2), end)]
    return marks[-1] if marks else end


def _word_after(text: str) -> int:
    """How many characters of `text` belong to a word that began before it, if it ends soon."""
    mark = _MARK.search(text, 0, SHOWN_MAX // 2)
    return mark.start() if mark else min(len(text), SHOWN_MAX // 2)


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


def _text(value: Any) -> str:
    if value in ("", [], {}, None):
        return _AS_CONTROLS if value == "" else "none"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
