"""Sections of the report that rest on more than runs: corrections, comparability, prices, construction, runtime. Pure
but for two documents of the package, which count only if a gate of the preregistration names their digest.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairtrial.attest import canonical
from fairtrial.audit.corrections import Corrections
from fairtrial.audit.documents import value_of
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.numbers import rows as made_rows
from fairtrial.audit.numbers.accounts import NOT_RECORDED, TEXT_MAX, counted, models
from fairtrial.audit.numbers.expect import ANY, Five, Num, of
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.rule import Facts, lines, verdict
from fairtrial.audit.numbers.sample import Sample, median, numbers, quantile
from fairtrial.audit.numbers.told import Value

JsonObject = dict[str, Any]
PRICES = ("input", "cached_input", "cache_write", "output", "reasoning")
PARTS = ("framework", "plain_application", "framework_application", "shared_acceptance", "benchmark_infrastructure")
_DECIMAL, _DECIMAL_MAX = frozenset("0123456789.-"), 82
_FEW = 20  # values from which a 95th percentile is more than interpolation
_EXPLAINED_BY = {"initialState": "fixture", "model": "model"}
_NODE_FACTS = ("kernel", "machine", "processors")


# --- gates ------------------------------------------------------------------------------------------------------------
def gates(spec: JsonObject, sample: Sample) -> dict[str, str]:
    """The state of each gate: shown by a document that is named before, or, for two of them, by every record."""
    states = {gate["name"]: "pass" if gate.get("evidence") else "unknown" for gate in spec.get("gates", ())}
    valid, wanted = sample.valid(), set(states) | set((spec.get("decisionRule") or {}).get("gates", ()))
    for name, holds in (("isolation", _isolated), ("model-immutable", _pinned)):
        if name in wanted and valid:
            seen = "pass" if all(map(holds, valid)) else "fail"
            if states.get(name) != "pass" or seen == "fail":
                states[name] = seen
    return states


def _isolated(row: Row) -> bool:
    return bool(row.record["isolation"]["state"] == "proven")


def _pinned(row: Row) -> bool:
    provider = row.record["configuration"]["provider"].get("value")
    return all(model == (provider["model"]["id"] if provider else "") for model in models(row.record))


# --- corrections ------------------------------------------------------------------------------------------------------
def other_verdicts(
    rule: JsonObject | None, sample: Sample, facts: Facts, originals: Mapping[str, Row], runs: Sequence[str]
) -> str | None:
    """The verdict if these runs had not been corrected."""
    if rule is None:
        return None
    undone = tuple(originals[row.run] if row.run in runs else row for row in sample.rows)
    other = Sample(undone, sample.tasks, sample.arms, sample.repetitions, sample.treatment, sample.control)
    return verdict(rule, lines(rule, other, facts))


def corrections(
    rule: JsonObject | None,
    sample: Sample,
    facts: Facts,
    base: str,
    found: Corrections,
    originals: Mapping[str, Row],
) -> list[JsonObject]:
    """Each correction, and the verdict that there would be without it."""
    made = []
    for number, one in found.documents if found.usable else ():
        over = one.get("supersedes") or {}
        run = over.get("run")
        other = None
        if one["kind"] != "deviation" and run is not None:
            other = other_verdicts(rule, sample, facts, originals, [run])
        made.append(
            {
                "number": number,
                "kind": one["kind"],
                "run": run,
                "reason": one["reason"],
                "says": one["says"],
                "role": one["role"],
                "at": one["at"],
                "supersedes": (over.get("correctionSha256") or over.get("recordSha256")) if over else None,
                "fields": [
                    {
                        "field": each["field"],
                        "before": canonical.to_bytes(each["before"]).decode(),
                        "after": canonical.to_bytes(each["after"]).decode(),
                    }
                    for each in one.get("changes") or ()
                ],
                "evidence": [f"{each['uri']} sha256:{each['sha256']}" for each in one.get("evidence") or ()],
                "verdictWithout": other,
                "changesVerdict": None if other is None else other != base,
            }
        )
    return made


# --- what differs within blocks ---------------------------------------------------------------------------------------
def comparability(sample: Sample, spec: JsonObject) -> list[JsonObject]:
    """Runs of one block that differ in what must be equal."""
    declared = {one["aspect"] for one in spec["constitution"].get("confounders", ())}
    skipped = {what for what, aspect in _EXPLAINED_BY.items() if aspect in declared}
    blocks, images = defaultdict[str, list[Row]](list), defaultdict[str, dict[str, str]](dict)
    block_of: dict[str, str] = {}
    for row in sample.rows:
        if row.valid and row.record:
            blocks[row.block].append(row)
            images[row.arm][row.run] = row.record["environment"]["resolvedImages"].get("agent/agent", NOT_RECORDED)
            block_of[row.run] = row.block
    found: list[tuple[str, str, dict[str, str]]] = []
    for block, members in sorted(blocks.items()):
        told = {row.run: _must_be_equal(row.record) for row in members}
        for what in sorted(set(next(iter(told.values()))) - skipped):
            values = {run: each[what] for run, each in told.items()}
            if len(set(values.values())) > 1 or NOT_RECORDED in values.values():
                found.append((block, what, values))
    for by_run in images.values():
        found += [(block, "image", values) for block, values in _odd_images(by_run, block_of).items()]
    return [
        {
            "where": where,
            "what": what,
            "values": counted((text[:TEXT_MAX], run) for run, text in sorted(values.items())),
        }
        for where, what, values in sorted(found, key=lambda one: one[:2])
    ]


def _odd_images(by_run: Mapping[str, str], block_of: Mapping[str, str]) -> dict[str, dict[str, str]]:
    images = list(by_run.values())
    if len(set(images)) == 1 and NOT_RECORDED not in images:
        return {}
    usual = sorted(images, key=lambda image: (-images.count(image), image))[0]
    made: dict[str, dict[str, str]] = {}
    for run, image in by_run.items():
        if image != usual or image == NOT_RECORDED:
            made.setdefault(block_of[run], {})[run] = image
    return made


def _must_be_equal(record: JsonObject) -> dict[str, str]:
    environment, configuration, agent = record["environment"], record["configuration"], record["environment"]["agent"]
    answered = record["usage"]["answeredModels"].get("value")
    limits = [_told(environment["resources"]), agent.get("cgroup"), _told(configuration["wallSeconds"])]
    return {
        "initialState": _told(environment["initialStateSha256"]),
        "evaluatorImage": _told(environment["evaluatorImage"]),
        "nodeClass": _text([environment["resourceClass"], *(agent.get(key) for key in _NODE_FACTS)]),
        "limits": _text([*limits, str(configuration["graceSeconds"])]),
        "model": _text([_told(configuration["provider"]), _text(sorted(answered)) if answered else "none"]),
    }


def _told(value: JsonObject) -> str:
    if value["state"] == "not_applicable":
        return "none"
    return _text(value["value"]) if value["state"] == "measured" else NOT_RECORDED


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))


# --- prices -----------------------------------------------------------------------------------------------------------
def snapshots(sample: Sample) -> list[JsonObject]:
    """The prices that costs were computed by."""
    found: dict[tuple[str, str], tuple[JsonObject, set[str]]] = {}
    for row in sample.rows:
        provider = row.record["configuration"]["provider"].get("value") if row.record else None
        if provider and provider.get("pricing"):
            pricing = provider["pricing"]
            key = (pricing["snapshot"], provider["model"]["id"])
            found[key] = (pricing, found.get(key, ({}, set()))[1] | {row.arm})
    return [
        {
            "snapshot": snapshot,
            "model": model,
            "currency": pricing["currency"],
            "effectiveDate": pricing["effectiveDate"],
            "serviceTier": pricing.get("serviceTier", ANY),
            "prices": [
                {"name": name, "price": pricing["perMillionTokens"].get(made_rows.camel(name))} for name in PRICES
            ],
            "arms": [arm for arm in sample.arms if arm in arms],
        }
        for (snapshot, model), (pricing, arms) in sorted(found.items(), key=lambda one: one[0])
    ]


# --- two documents ----------------------------------------------------------------------------------------------------
def _document(folder: Folder, spec: JsonObject, name: str, findings: Findings) -> tuple[JsonObject | None, str | None]:
    """A document that a gate of the preregistration names, and its digest; None where it is not there or another."""
    evidence = (one for gate in spec.get("gates", ()) for one in gate.get("evidence", ()))
    named = next((one["sha256"] for one in evidence if one["uri"].rsplit("/", 1)[-1] == name), None)
    data = folder.read(f"data/{name}")
    if named is None or data is None:
        return None, None
    has = hashlib.sha256(data).hexdigest()
    if has != named:
        findings.add("COMMITMENT_MISMATCH", f"data/{name}", f"Has SHA-256 {has}; a gate names {named}.")
        return None, has
    value = value_of(data, f"data/{name}", findings)
    return (value if isinstance(value, dict) else None), has


def runtime_medians(folder: Folder, spec: JsonObject, sample: Sample) -> dict[str, Fraction]:
    """The treatment's median of each runtime metric: what budgets are compared with."""
    document, _ = _document(folder, spec, "runtime.json", folder.findings)
    made = {}
    for metric, arms in document["metrics"].items() if document else ():
        middle = median([each for each in map(_decimal, arms.get(sample.treatment, ())) if each is not None])
        if middle is not None:
            made[metric] = middle
    return made


def runtime(folder: Folder, spec: JsonObject) -> JsonObject:
    """The runtime experiment's own section."""
    document, digest = _document(folder, spec, "runtime.json", folder.findings)
    if document is None:
        return {"state": "missing", "reason": ANY, "documentSha256": digest, "metrics": []}
    made = []
    for metric, arms in sorted(document["metrics"].items()):
        for arm, texts in sorted(arms.items()):
            samples = [_value(text) for text in texts]
            found, about = [each.number for each in samples if each.number is not None], of("samples", metric, arm=arm)
            tail = quantile(found, Fraction(95, 100)) if found else None
            made.append(
                {
                    "metric": metric,
                    "unit": ANY,
                    "arm": arm,
                    "summary": Five(about, tuple(samples)),
                    "p95": Num("quantile_95", about, tail, counts={"n": len(found)}),
                    "p95Interpolated": bool(found) and len(found) < _FEW,
                }
            )
    return {"state": "measured", "reason": None, "documentSha256": digest, "metrics": made}


def construction(folder: Folder, sample: Sample, spec: JsonObject, units: Mapping[str, str]) -> JsonObject:
    """Construction cost and break-even."""
    document, digest = _document(folder, spec, "construction.json", folder.findings)
    if document is None:
        return {"state": "missing", "reason": ANY, "documentSha256": digest, "units": []}
    named = sorted({unit for session in document["sessions"] for unit in session["spent"]})
    main = document.get("main") or ["framework", "framework_application"]
    currency = units.get("cost") or made_rows.unit("cost", sample.rows)
    made = [_unit(document["sessions"], main, unit, sample, currency) for unit in named]
    return {"state": "measured", "reason": None, "documentSha256": digest, "units": made}


def _unit(sessions: list[JsonObject], main: list[str], unit: str, sample: Sample, currency: str) -> JsonObject:
    about = of("sessions", unit)
    parts = {part: _spent([one["spent"].get(unit) for one in sessions if one["part"] == part]) for part in PARTS}
    totals = {"main": _sum([parts[part] for part in PARTS if part in main]), "inclusive": _sum(list(parts.values()))}
    metric = "accounted_tokens" if unit == "tokens" else "cost" if unit == currency else None
    medians: list[Fraction | None] = [None, None]
    if metric and sample.compares:
        medians = [median(numbers(sample.passed(None, arm), metric)) for arm in sample.pair]
    saving = medians[1] - medians[0] if medians[0] is not None and medians[1] is not None else None

    def tasks(cost: Fraction | None) -> Fraction | None:
        return None if cost is None or saving is None or saving <= 0 else cost / saving

    def middle(place: int) -> Num:
        arm = sample.pair[place] if metric and sample.compares else None
        return Num("five_numbers", of("passed", metric, arm=arm), medians[place])

    needed = tasks(totals["main"])
    return {
        "unit": unit,
        "parts": [
            {"part": part, "spent": Num("sum", of("sessions", unit, reason=part), spent)}
            for part, spent in parts.items()
        ],
        **{name: Num("sum", of("sessions", unit, reason=name), spent) for name, spent in totals.items()},
        "controlMedian": middle(1),
        "treatmentMedian": middle(0),
        "breakEven": Num("break_even", about, needed),
        "breakEvenInclusive": Num("break_even", about, tasks(totals["inclusive"])),
        "tasksNeeded": None if needed is None else math.ceil(needed),
    }


def _spent(texts: list[str | None]) -> Fraction | None:
    return _sum([_decimal(text) for text in texts])


def _sum(parts: Sequence[Fraction | None]) -> Fraction | None:
    known = [each for each in parts if each is not None]
    return sum(known, Fraction(0)) if len(known) == len(parts) else None


def _decimal(text: Any) -> Fraction | None:
    good = isinstance(text, str) and len(text) <= _DECIMAL_MAX and set(text) <= _DECIMAL
    return Fraction(text) if good else None


def _value(text: Any) -> Value:
    number = _decimal(text)
    return Value("missing", None, "not_logged") if number is None else Value("measured", number)
