"""Whether the runs of a block can be compared: what was to be equal is, as observed afterwards. Pure.

Only runs that count are looked at. A difference that the cohort declared before, such as another model in an endToEnd
comparison, is no finding; a value that nobody recorded is one, because unknown is not equal.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial.api.cohort import BenchmarkCohortSpec
from fairtrial.cohort.differences import told_apart
from fairtrial.evidence.record_model import Record
from fairtrial.evidence.value import Value

NOT_RECORDED = "not recorded"
_VALID = ("passed", "failed")
# What must be equal in a block, and the declared aspect that explains a difference.
EXPLAINED_BY = {"initialState": "fixture", "model": "model"}


@dataclass(frozen=True)
class Observed:
    """What one run was carried out under, as its record tells; values are text, equal where the facts are."""

    run: str
    block: str
    candidate: str
    values: Mapping[str, str]
    image: str

    @classmethod
    def of(cls, record: Record) -> "Observed":
        """What a record tells."""
        environment, configuration, usage = record.environment, record.configuration, record.usage
        agent = environment.agent if isinstance(environment.agent, dict) else {}
        return cls(
            run=record.identity.run,
            block=record.identity.block or "",
            candidate=record.identity.candidate,
            values={
                "initialState": _told(environment.initial_state_sha256),
                "evaluatorImage": _told(environment.evaluator_image),
                "nodeClass": _text([environment.resource_class, *(agent.get(key) for key in _NODE_FACTS)]),
                "limits": _text([_told(environment.resources), agent.get("cgroup"), *_own_limits(record)]),
                "model": _text([_told(configuration.provider), _answered(usage.answered_models)]),
            },
            image=environment.resolved_images.get("agent/agent", NOT_RECORDED),
        )


_NODE_FACTS = ("kernel", "machine", "processors")


@dataclass(frozen=True)
class Finding:
    """A block, or for an image a candidate, whose runs differ in something, with what each of them has. As text: what
    tells them apart."""

    where: str
    what: str
    values: Mapping[str, str]  # by run

    def __str__(self) -> str:
        readable = {run: value.replace('\\"', '"') for run, value in self.values.items()}
        told = "; ".join(f"{run}: {value}" for run, value in sorted(told_apart(readable).items()))
        return f"{self.where}: {self.what} differs ({told})"


def comparability(spec: BenchmarkCohortSpec, records: Iterable[Record]) -> list[Finding]:
    """What differs that must be equal, block by block."""
    declared = {confounder.aspect for confounder in spec.constitution.confounders}
    valid = [Observed.of(record) for record in records if record.classification.outcome in _VALID]
    return findings(valid, ignored={what for what, aspect in EXPLAINED_BY.items() if aspect in declared})


def findings(runs: Iterable[Observed], *, ignored: Iterable[str] = ()) -> list[Finding]:
    """What differs within blocks; and images, which must be one for each candidate, whatever the block."""
    blocks, images, skipped = defaultdict[str, list[Observed]](list), defaultdict[str, list[Observed]](list), {*ignored}
    for run in runs:
        blocks[run.block].append(run)
        images[run.candidate].append(run)
    found = []
    for block, members in sorted(blocks.items()):
        for what in sorted(members[0].values.keys() - skipped):
            found += _unequal(block, what, {run.run: run.values[what] for run in members})
    by_block = {run.run: run.block for members in blocks.values() for run in members}
    for members in images.values():
        for one in _unequal("", "image", {run.run: run.image for run in members}):
            found += [Finding(block, "image", values) for block, values in _odd_ones(one.values, by_block).items()]
    return sorted(found, key=lambda one: (one.where, one.what))


def _unequal(where: str, what: str, values: Mapping[str, str]) -> list[Finding]:
    distinct = set(values.values())
    if len(distinct) == 1 and NOT_RECORDED not in distinct:
        return []
    return [Finding(where, what, values)]


def _odd_ones(values: Mapping[str, str], by_block: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Where a candidate's image is not the one that most of its runs had: those runs, by their block."""
    counted = sorted(values.values(), key=lambda image: (-list(values.values()).count(image), image))
    made: dict[str, dict[str, str]] = {}
    for run, image in values.items():
        if image != counted[0] or image == NOT_RECORDED:
            made.setdefault(by_block[run], {})[run] = image
    return made


def _own_limits(record: Record) -> list[str]:
    configuration = record.configuration
    return [_told(configuration.wall_seconds), str(configuration.grace_seconds)]


def _answered(models: Value[Any]) -> str:
    """The models that answered; a run that asked for none had none."""
    return _text(sorted(models.value)) if models.value else "none"


def _told(value: Value[Any]) -> str:
    if value.state == "not_applicable":
        return "none"
    return _text(value.value) if value.state == "measured" else NOT_RECORDED


def _text(value: Any) -> str:
    """A fact as text: equal for equal facts, whatever the order of keys."""
    if isinstance(value, str):
        return value
    plain = value.as_json() if hasattr(value, "as_json") else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))
