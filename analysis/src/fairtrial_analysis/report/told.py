"""What is said in words: the executive result, warnings, deviations and limitations, each with a stable code. Pure."""

from collections.abc import Iterator

from fairtrial_analysis.report.accounts import Deviation, Sensitivity
from fairtrial_analysis.report.circumstances import several_models
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.measured import Amount, Success
from fairtrial_analysis.report.model import Executive, Limitation, Notice, Planned, Provenance, Variant
from fairtrial_analysis.report.numbers import count, number, share
from fairtrial_analysis.report.values import Number, Of
from fairtrial_analysis.rule.evaluate import Decision

FEW_TASKS = 20
FEW_RUNS = 6  # for a distribution-free 95 % interval of a median


def executive(
    data: Data,
    decision: Decision | None,
    success: Success,
    amounts: list[Amount],
    warnings: list[Notice],
) -> Executive:
    """The result on one screen."""
    valid = sum(row.valid for row in data.rows)
    return Executive(
        verdict=decision.verdict if decision else None,
        because=list(decision.because) if decision else [],
        says=list(_sentences(data, decision, success, amounts, valid)),
        planned=data.scheduled(None) * len(data.arms),
        valid=valid,
        unjudged=sum(not row.valid for row in data.rows),
        telemetry=[_coverage(data, metric, arm) for metric in _primary(data) for arm in data.arms],
        warnings=warnings,
    )


def _primary(data: Data) -> list[str]:
    return [metric for metric in data.metrics if data.role(metric) == "primary"]


def _coverage(data: Data, metric: str, arm: str) -> Number:
    values = [each for each in data.values(data.valid(None, arm), metric) if each.state != "not_applicable"]
    of = Of("valid", metric, arm=arm, reason="measured")
    return share(
        sum(each.value is not None for each in values), len(values), of, scheduled=data.scheduled(None),
        empty="not_applicable_anywhere", conventions=data.conventions, state="not_applicable",
    )  # fmt: skip


def _sentences(
    data: Data, decision: Decision | None, success: Success, amounts: list[Amount], valid: int
) -> Iterator[str]:
    stage = data.loaded.plan.spec["stage"]
    if decision is None:
        yield f"This {stage} cohort has no decision rule for a treatment and a control, and so no verdict."
    else:
        rows = ", ".join(decision.because)
        yield f"{decision.verdict}{f', by {rows}' if rows else ''}."
    planned = data.scheduled(None) * len(data.arms)
    lost = sum(row.replaces is not None for row in data.rows)
    yield (
        f"{_counted(valid, 'valid run')} of {planned} that were scheduled, and {_counted(lost, 'replacement')}: "
        f"{_counted(len(data.tasks), 'task')}, {_counted(len(data.arms), 'candidate')}, "
        f"{_counted(data.repetitions, 'repetition')}."
    )
    for arm, rate in zip(data.arms, success.rates, strict=True):
        yield f"{arm} succeeded in {rate.numerator} of {rate.denominator} valid runs."
    difference = success.widest
    if difference.value is not None:
        points = _minus(100 * difference.value, "+.1f")
        yield f"Success, treatment minus control: {points} points{_range(difference, 100)}."
    for amount in amounts:
        found = amount.ratios.geometric_mean
        if amount.role == "primary" and found.value is not None:
            name = amount.metric.replace("_", " ").capitalize()
            yield f"{name}: {found.value:.3f} of the control's, over tasks{_range(found, 1)}."
    if decision is not None and decision.verdict == "SUPPORTED":
        yield f"Permitted claim: {data.loaded.plan.spec['constitution'].get('permittedClaim', '')}"


def _range(found: Number, scale: int) -> str:
    interval = found.interval
    if interval is None or interval.low is None or interval.high is None:
        return ""
    digits = ".1f" if scale > 1 else ".3f"
    return f" (95 % interval {_minus(scale * interval.low, digits)} to {_minus(scale * interval.high, digits)})"


def _counted(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def _minus(value: float, digits: str) -> str:
    """A number for people, with a true minus."""
    return format(value, digits).replace("-", "\N{MINUS SIGN}")


def warnings(
    data: Data,
    sensitivity: Sensitivity | None,
    amounts: list[Amount],
    variants: list[Variant],
    provenance: Provenance,
) -> list[Notice]:
    """What a reader must know before the numbers."""
    loaded, made = data.loaded, list[Notice]()
    if loaded.wrong:
        runs = sorted({each.where for each in loaded.wrong} & {row.run for row in data.rows})
        made.append(
            Notice("INTEGRITY", f"{len(loaded.wrong)} integrity errors; no confirmatory verdict rests on this.", runs)
        )
    if loaded.plan.spec["stage"] != "confirmatory":
        made.append(Notice("NOT_CONFIRMATORY", f"A {loaded.plan.spec['stage']} cohort supports no claim.", []))
    made += _about_keys(provenance)
    if sensitivity is not None and sensitivity.unequal:
        p = sensitivity.differential_loss.value
        lost = [row.run for row in data.rows if row.begun and not row.valid]
        made.append(Notice("UNEQUAL_LOSS", f"The arms lost runs at unequal rates (Fisher's p = {p}).", lost))
    for arm in several_models(data):
        says = f"More than one model answered in {arm}: results before and after are not one population."
        made.append(Notice("SEVERAL_MODELS", says, []))
    if loaded.findings:
        blocks = sorted({one.where for one in loaded.findings})
        runs = sorted({run for one in loaded.findings for run in one.values})
        made.append(Notice("NOT_COMPARABLE", f"In {len(blocks)} blocks something differs that must be equal.", runs))
    for amount in amounts:
        if amount.contradiction and amount.role == "primary":
            says = f"{amount.metric}: pooled medians and task-normalised ratios point in different directions."
            made.append(Notice("CONTRADICTION", says, []))
    changed = [one.name for one in variants if one.changed]
    if changed:
        which = ", ".join(name.replace("_", " ") for name in changed[:10])
        says = f"{len(changed)} of {len(variants)} other readings give another verdict: {which}."
        made.append(Notice("UNSTABLE", says, []))
    leaking = [row.run for row in data.rows if row.leaks]
    if leaking:
        made.append(Notice("LEAKS", "A credential or canary was found in what these runs stored.", leaking))
    return made


def _about_keys(provenance: Provenance) -> Iterator[Notice]:
    says = {
        "none": "Nothing is signed: whoever holds the store could have replaced all of it.",
        "development": "Signed with development keys, which anybody could have made.",
    }.get(provenance.signing)
    if says:
        yield Notice("UNSIGNED" if provenance.signing == "none" else "DEVELOPMENT_KEYS", says, [])


def deviations(data: Data, provenance: Provenance) -> list[Deviation]:
    """What went otherwise than planned: found here, then as people told it."""
    loaded, made = data.loaded, list[Deviation]()
    if loaded.ledger.cancelled:
        made.append(Deviation("COHORT_CANCELLED", loaded.ledger.cancelled.reason or "The cohort was cancelled.", []))
    never = [row.run for row in data.rows if row.outcome == "not_run"]
    if never:
        made.append(Deviation("NOT_RUN", f"{len(never)} runs were never carried out or left no record.", never))
    short = [
        f"{task}/{arm}" for task in data.tasks for arm in data.arms if data.counts(task, arm)[1] < data.repetitions
    ]
    if short:
        says = f"{len(short)} cells have fewer valid runs than the {data.repetitions} planned: {', '.join(short[:20])}."
        made.append(Deviation("CELLS_SHORT", says, []))
    if provenance.preregistered_version not in (None, provenance.analysis_version):
        says = f"Analysed by version {provenance.analysis_version}, not {provenance.preregistered_version}."
        made.append(Deviation("OTHER_ANALYSIS_VERSION", says, []))
    if provenance.analysis_image and provenance.preregistered_image not in (None, provenance.analysis_image):
        says = f"Analysed in image {provenance.analysis_image}, not {provenance.preregistered_image}."
        made.append(Deviation("OTHER_ANALYSIS_IMAGE", says, []))
    for one in loaded.corrections:
        if one.kind == "deviation":
            made.append(Deviation(f"TOLD_{one.number}", one.says, [one.supersedes.run] if one.supersedes else []))
    return made


def limitations(data: Data, provenance: Provenance) -> list[Limitation]:
    """Declared before the first run, and derived from what there is."""
    constitution = data.loaded.plan.spec["constitution"]
    made = [
        Limitation("declared", f"CONFOUNDER_{one['aspect']}", one["says"])
        for one in constitution.get("confounders", ())
    ]
    for code, key in (("POPULATION", "taskPopulation"), ("SAMPLING", "sampling"), ("EXCLUSIONS", "exclusions")):
        if constitution.get(key):
            made.append(Limitation("declared", code, constitution[key]))
    derived = {
        "SELECTED_BY_SUCCESS": "Amounts among successes are selected by success; all valid runs stand beside them.",
        "THESE_TASKS": "Pooled intervals speak of these tasks only; intervals over tasks speak of their population.",
    }
    if len(data.tasks) < FEW_TASKS:
        derived["FEW_TASKS"] = f"{len(data.tasks)} tasks are few: intervals over tasks are wide."
    if data.repetitions < FEW_RUNS:
        derived["FEW_REPETITIONS"] = (
            f"Of {data.repetitions} runs no distribution-free 95 % interval of a median exists; the range is shown, "
            "with the coverage that it has."
        )
    for one in _about_keys(provenance):
        derived[one.code] = one.says
    return made + [Limitation("derived", code, says) for code, says in derived.items()]


def planned(data: Data) -> list[Planned]:
    """Planned and achieved."""
    rows, scheduled = data.rows, data.scheduled(None) * len(data.arms)
    least = min((data.counts(task, arm)[1] for task in data.tasks for arm in data.arms), default=0)
    blocks = sum(all(arm in members for arm in data.arms) for members in data.blocks.values())
    rule = data.loaded.plan.rule
    needed = rule.min_valid_per_cell if rule else data.repetitions
    return [
        Planned("valid runs", count(scheduled, Of("scheduled")), count(sum(row.valid for row in rows), Of("valid"))),
        Planned("valid runs in the smallest cell", count(needed, Of("scheduled")), count(least, Of("valid"))),
        Planned(
            "complete blocks",
            number(len(data.blocks), "count", Of("scheduled"), unit="blocks"),
            number(blocks, "count", Of("valid"), unit="blocks"),
        ),
    ]
