"""Two documents that lie beside the records: what construction cost, and what the runtime experiment measured. Pure.

Each must be named, with its SHA-256, by the evidence of one of the cohort's gates, under an address that ends with its
name; so nobody can choose it after the results. One that is not named is not read.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fairtrial import documents
from fairtrial.errors import InvalidInput
from fairtrial_analysis.load.inputs import Plan, Wrong
from fairtrial_analysis.load.values import DECIMAL
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.ratios.construction import PARTS, Part, Session
from fairtrial_analysis.stats.value import Value, measured, missing

CONSTRUCTION, RUNTIME = "construction.json", "runtime.json"
NOT_NAMED, NOT_STORED = "no_gate_names_it", "named_but_not_stored"


@dataclass(frozen=True)
class LoggedSession:
    """One development session: what it built, and what it took. Amounts are decimal text; None is unavailable."""

    id: str
    part: Part
    spent: dict[str, str | None]  # unit → amount: tokens, seconds, a currency …


@dataclass(frozen=True)
class ConstructionLog:
    """Every session that was logged, and which parts make the main numerator of break-even."""

    sessions: list[LoggedSession]
    main: list[Part] = field(default_factory=lambda: ["framework", "framework_application"])
    kind: Literal["ConstructionLog"] = "ConstructionLog"
    schema_version: Literal[1] = 1


@dataclass(frozen=True)
class RuntimeResults:
    """Samples by metric and candidate, in the metric's own unit, as decimal text."""

    metrics: dict[str, dict[str, list[str]]]
    kind: Literal["RuntimeResults"] = "RuntimeResults"
    schema_version: Literal[1] = 1


@dataclass(frozen=True)
class Inputs:
    """Both, or why there is none."""

    construction: tuple[Session, ...] | None = None
    construction_main: tuple[Part, ...] = ()
    construction_sha256: str = ""
    construction_reason: str = NOT_NAMED
    runtime: Mapping[str, Mapping[str, tuple[Value, ...]]] | None = None  # metric → arm → samples
    runtime_sha256: str = ""
    runtime_reason: str = NOT_NAMED

    def runtime_of(self, arm: str | None) -> dict[str, Value]:
        """The medians of one arm: what budgets are compared with."""
        found = {}
        for metric, arms in (self.runtime or {}).items():
            middle = median(each.value for each in arms.get(arm or "", ()) if each.value is not None)
            if middle is not None:
                found[metric] = measured(middle)
        return found


def inputs_of(plan: Plan, read: Callable[[str], bytes | None]) -> tuple[Inputs, list[Wrong]]:
    """What the cohort's gates name of them, checked against the digests there."""
    wrong: list[Wrong] = []
    fields: dict[str, Any] = {}
    for name, field_name, take in ((CONSTRUCTION, "construction", _construction), (RUNTIME, "runtime", _runtime)):
        wanted = _named(plan, name)
        if wanted is None:
            continue
        data = read(name)
        if data is None:
            fields[f"{field_name}_reason"] = NOT_STORED
            continue
        sha256 = hashlib.sha256(data).hexdigest()
        fields[f"{field_name}_sha256"] = sha256
        try:
            if sha256 != wanted:
                raise InvalidInput(f"has SHA-256 {sha256}, but a gate names {wanted}.")
            fields |= take(data)
        except InvalidInput as error:
            wrong.append(Wrong("DOCUMENT_UNFIT", name, str(error)))
            fields[f"{field_name}_reason"] = "unfit"
    return Inputs(**fields), wrong


def _named(plan: Plan, name: str) -> str | None:
    gates: Iterable[dict[str, Any]] = plan.spec.get("gates", ())
    found = (one for gate in gates for one in gate.get("evidence", ()))
    return next((one["sha256"] for one in found if one["uri"].rsplit("/", 1)[-1] == name), None)


def _construction(data: bytes) -> dict[str, Any]:
    log: ConstructionLog = documents.load(ConstructionLog, data, name=CONSTRUCTION)
    sessions = []
    for session in log.sessions:
        spent = {unit: _number(text, f"session {session.id}: {unit}") for unit, text in session.spent.items()}
        sessions.append(Session(session.part, spent))
    main = tuple(part for part in PARTS if part in log.main)
    return {"construction": tuple(sessions), "construction_main": main, "construction_reason": ""}


def _runtime(data: bytes) -> dict[str, Any]:
    results: RuntimeResults = documents.load(RuntimeResults, data, name=RUNTIME)
    made: dict[str, dict[str, tuple[Value, ...]]] = {}
    for metric, arms in results.metrics.items():
        if metric not in METRICS or not METRICS[metric].runtime:
            raise InvalidInput(f"{RUNTIME}: metrics: {metric} is no runtime metric.")
        made[metric] = {arm: tuple(_number(text, metric) for text in texts) for arm, texts in arms.items()}
    return {"runtime": made, "runtime_reason": ""}


def _number(text: str | None, where: str) -> Value:
    if text is None:
        return missing("not_logged")
    if not DECIMAL.fullmatch(text):  # what Fraction reads besides, such as 1e999999999, would take all memory
        raise InvalidInput(f"{where}: {text[:40]!r} is not a decimal number.")
    return measured(text)
