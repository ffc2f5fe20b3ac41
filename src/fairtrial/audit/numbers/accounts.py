"""What the report must say of flow, losses, failures, order and circumstances: counts of runs."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from fairtrial.audit.ledger import Ledger
from fairtrial.audit.numbers.amounts import summary
from fairtrial.audit.numbers.distributions import fisher_two_sided
from fairtrial.audit.numbers.expect import ANY, Num, of
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.rule import loss
from fairtrial.audit.numbers.sample import Sample, cause, numbers, value
from fairtrial.audit.numbers.success import share

JsonObject = dict[str, Any]
CATEGORIES = (
    "incorrect_diagnosis", "incomplete_implementation", "acceptance_failure", "hidden_regression", "type_error",
    "architecture_violation", "security_regression", "data_migration_error", "prohibited_shortcut",
    "test_or_build_damage", "time_limit", "agent_operational_error", "framework_defect",
)  # fmt: skip
UNCLASSIFIED, NOT_RECORDED, AMBIGUOUS = "unclassified", "not recorded", "ambiguous"
TEXT_MAX, UNEQUAL_LOSS = 400, Fraction(5, 100)


def counted(named: Iterable[tuple[str, str]], *, runs: bool = True) -> list[JsonObject]:
    """Of (name, run): how many runs each name has, and which."""
    found: dict[str, list[str]] = {}
    for name, run in named:
        found.setdefault(name, []).append(run)
    return [{"name": name, "count": len(of), "runs": of if runs else []} for name, of in sorted(found.items())]


# --- flow -------------------------------------------------------------------------------------------------------------
def flow(sample: Sample) -> list[JsonObject]:
    """Of all arms, then of each."""
    return [_flow(sample, arm) for arm in (None, *sample.arms)]


def _flow(sample: Sample, arm: str | None) -> JsonObject:
    rows = sample.of(None, arm)
    outcomes = Counter(row.outcome for row in rows)
    made = {name: outcomes[name] for name in ("passed", "failed", "invalid", "void", "cancelled")}
    replacements, planned = sum(bool(row.replaces) for row in rows), sample.scheduled(None, arm)
    codes = (
        (row.end.get("invalidity") or row.end.get("reason", ""), row.run) for row in rows if row.outcome == "invalid"
    )
    return {
        "arm": arm,
        "scheduled": planned,
        "replacements": replacements,
        **made,
        "notRun": outcomes["not_run"],
        "invalidBy": counted(codes),
        "balanced": planned + replacements == sum(outcomes.values()),
    }


def planned(sample: Sample, needed: int) -> list[JsonObject]:
    """Planned and achieved."""
    cells = [len(sample.valid(task, arm)) for task in sample.tasks for arm in sample.arms]
    whole = sum(all(arm in members for arm in sample.arms) for members in sample.blocks.values())
    pairs = (
        ("valid runs", sample.scheduled(), len(sample.valid())),
        ("valid runs in the smallest cell", needed, min(cells, default=0)),
        ("complete blocks", len(sample.blocks), whole),
    )
    return [
        {"what": what, "planned": Num("count", of("scheduled"), a), "achieved": Num("count", of("valid"), b)}
        for what, a, b in pairs
    ]


def missingness(sample: Sample, metrics: Sequence[str]) -> list[JsonObject]:
    """Each metric in each arm, over valid runs."""
    return [_missing(sample, metric, arm) for metric in metrics for arm in sample.arms]


def _missing(sample: Sample, metric: str, arm: str) -> JsonObject:
    values = [value(row, metric) for row in sample.valid(None, arm)]
    states = Counter(each.state for each in values)
    lost, applies = states["missing"] + states["void"], len(values) - states["not_applicable"]
    reasons = Counter(each.reason for each in values if each.reason)
    return {
        "field": metric,
        "arm": arm,
        "n": len(values),
        "present": states["measured"],
        "missing": states["missing"],
        "notApplicable": states["not_applicable"],
        "void": states["void"],
        "zeros": sum(each.number == 0 for each in values),
        "rate": share((lost, applies), of("valid", metric, arm=arm, reason="missing"), len(values)),
        "reasons": [{"name": name, "count": count, "runs": []} for name, count in sorted(reasons.items())],
    }


def telemetry(sample: Sample, primary: Sequence[str]) -> list[Num]:
    """The share of valid runs that have each primary metric, by arm."""
    made = []
    for metric in primary:
        for arm in sample.arms:
            states = [value(row, metric).state for row in sample.valid(None, arm)]
            applies = [state for state in states if state != "not_applicable"]
            about = of("valid", metric, arm=arm, reason="measured")
            made.append(share((applies.count("measured"), len(applies)), about, sample.scheduled(None, arm)))
    return made


# --- failures and losses ----------------------------------------------------------------------------------------------
def failures(sample: Sample) -> list[JsonObject]:
    """By arm: every category, zeros too; an arm without failures has the rows of the first one with any."""
    failed = {arm: [row for row in sample.of(None, arm) if row.outcome == "failed"] for arm in sample.arms}
    first = next((rows for _, rows in sorted(failed.items()) if rows), None)
    return [_failures(arm, rows, rows or first) for arm, rows in failed.items()]


def _failures(arm: str, failed: list[Row], named: list[Row] | None) -> JsonObject:
    by = {one["name"]: one for one in counted((_category(row), row.run) for row in failed)}
    seen = {UNCLASSIFIED} if named is None else {_category(row) for row in named}
    names = (*CATEGORIES, *sorted(seen - set(CATEGORIES)))
    return {
        "arm": arm,
        "failures": len(failed),
        "primary": [by.get(name, {"name": name, "count": 0, "runs": []}) for name in names],
        "tags": counted((tag, row.run) for row in failed for tag in row.end.get("tags", ())),
        "ambiguous": sum(AMBIGUOUS in row.end.get("tags", ()) for row in failed),
        "causes": counted(((cause(row), row.run) for row in failed), runs=False),
    }


def _category(row: Row) -> str:
    return str(row.end.get("category") or UNCLASSIFIED)


def failed_runs(sample: Sample) -> list[JsonObject]:
    """Each failed run."""
    return [
        {
            "run": row.run,
            "task": row.task,
            "arm": row.arm,
            "category": row.end.get("category"),
            "tags": list(row.end.get("tags", ())),
            "cause": cause(row),
            "reason": row.end.get("reason", ""),
            "ambiguous": AMBIGUOUS in row.end.get("tags", ()),
        }
        for row in sample.rows
        if row.outcome == "failed"
    ]


def lost_runs(sample: Sample, ledger: Ledger) -> list[JsonObject]:
    """Each run without a judgement, and what was decided about it."""
    made = []
    for row in sample.rows:
        if row.valid:
            continue
        decided = ledger.decisions.get(row.run)
        made.append(
            {
                "run": row.run,
                "uid": row.uid,
                "task": row.task,
                "arm": row.arm,
                "repetition": row.repetition,
                "outcome": row.outcome,
                "code": row.end.get("invalidity"),
                "reason": ANY,
                "message": ANY,
                "decision": decided["code"] if decided else None,
                "why": decided["why"] if decided else None,
                "replacedBy": (decided["by"] or None) if decided else None,
                "replaces": row.replaces or None,
            }
        )
    return made


def sensitivity(sample: Sample) -> JsonObject | None:
    """What runs without a judgement could have changed."""
    if not sample.compares:
        return None
    arms = []
    for arm in sample.pair:
        top, bottom = sample.counts("success_rate", None, arm)
        arms.append((top, bottom, max(sample.scheduled(None, arm) - bottom, 0)))
    low, high = _bounds(*arms)
    losses = [loss(sample, arm) for arm in sample.pair]
    about, total = of("scheduled", "success_rate"), sum(bottom + lost for _, bottom, lost in arms)
    lost, begun = zip(*losses, strict=True)
    p = fisher_two_sided(lost, begun) if all(begun) else None
    return {
        "worstCaseLow": Num("worst_case_low", about, low, counts={"n": total}),
        "worstCaseHigh": Num("worst_case_high", about, high, counts={"n": total}),
        "tippingPoint": Num("tipping_point", about, _tipping_point(*arms), counts={"n": arms[0][2] + arms[1][2]}),
        "lost": [share(each, of("begun", "lost", arm=arm)) for arm, each in zip(sample.pair, losses, strict=True)],
        "differentialLoss": Num(
            "fisher_exact", of("begun", "lost"), None if p is None else float(p), counts={"n": sum(begun)}
        ),
        "unequal": None if p is None else p < UNEQUAL_LOSS,
    }


def _bounds(ours: tuple[int, int, int], theirs: tuple[int, int, int]) -> tuple[Fraction | None, Fraction | None]:
    (a, n, x), (b, m, y) = ours, theirs
    if not n + x or not m + y:
        return None, None
    return Fraction(a, n + x) - Fraction(b + y, m + y), Fraction(a + x, n + x) - Fraction(b, m + y)


def _tipping_point(ours: tuple[int, int, int], theirs: tuple[int, int, int]) -> int | None:
    """Turned one by one from for to against, those of the smaller arm first, until no advantage is left."""
    low, high = _bounds(ours, theirs)
    if low is None or high is None or low > 0:
        return None
    steps = [Fraction(1, n + lost) for _, n, lost in (ours, theirs) for _ in range(lost)]
    turned = 0
    for step in sorted(steps, reverse=True):
        if high <= 0:
            break
        high, turned = high - step, turned + 1
    return turned


# --- order and circumstances ------------------------------------------------------------------------------------------
def order(sample: Sample, schedule: JsonObject, primary: Sequence[str]) -> JsonObject | None:
    """The schedule's balance, and both arms by their place in the block."""
    if not sample.compares:
        return None
    blocks: dict[tuple[str, int], list[str]] = {}
    for entry in schedule["entries"]:
        if entry["candidate"] in sample.pair:
            blocks.setdefault((entry["task"], entry["repetition"]), []).append(entry["candidate"])
    whole = [arms for arms in blocks.values() if sorted(arms) == sorted(sample.pair)]
    first = sum(arms[0] == sample.pair[0] for arms in whole)
    earlier: dict[str, int] = {}
    for row in sample.rows:
        if row.arm in sample.pair:
            earlier[row.block] = min(row.place, earlier.get(row.block, row.place))
    places = [_place(sample, arm, place, earlier, primary) for arm in sample.pair for place in ("first", "second")]
    return {
        "blocks": len(blocks),
        "complete": len(whole),
        "treatmentFirst": first,
        "controlFirst": len(whole) - first,
        "places": places,
    }


def _place(sample: Sample, arm: str, place: str, earlier: dict[str, int], primary: Sequence[str]) -> JsonObject:
    rows = [row for row in sample.valid(None, arm) if (earlier[row.block] == row.place) == (place == "first")]
    passed = [row for row in rows if row.outcome == "passed"]
    return {
        "arm": arm,
        "place": place,
        "rate": share((len(passed), len(rows)), of("valid", "success_rate", arm=arm, place=place)),
        "amounts": [summary(passed, metric, of("passed", metric, arm=arm, place=place)) for metric in primary],
    }


def covariates(sample: Sample) -> list[JsonObject]:
    """Each circumstance by arm, over valid runs."""
    valid = {arm: sample.valid(None, arm) for arm in sample.arms}
    told = {
        row.run: circumstances(row.record)
        | {"model": ", ".join(models(row.record)) or "none", "oomKills": _kills(row.record)}
        for rows in valid.values()
        for row in rows
    }
    names = sorted({name for each in told.values() for name in each} - {"model", "oomKills"})
    return [
        {
            "name": name,
            "arm": arm,
            "values": counted(((told[row.run][name][:TEXT_MAX], row.run) for row in rows), runs=False),
        }
        for name in (*names, "model", "oomKills")
        for arm, rows in valid.items()
    ]


def circumstances(record: JsonObject) -> dict[str, str]:
    """What might differ between arms although it should not."""
    environment, pod = record["environment"], record["pods"].get("agent") or {}
    resources, facts = environment["resources"].get("value") or {}, pod.get("facts") or {}
    ended = (facts.get("containers") or {}).get("agent") or {}
    return {
        "node": pod.get("node") or NOT_RECORDED,
        "kernel": str(environment["agent"].get("kernel") or NOT_RECORDED),
        "resourceClass": environment["resourceClass"],
        "requests": _text(resources.get("requests")),
        "limits": _text(resources.get("limits")),
        "agentImage": environment["resolvedImages"].get("agent/agent", NOT_RECORDED),
        "evaluatorImage": environment["evaluatorImage"].get("value") or NOT_RECORDED,
        "agentEnded": ended.get("reason") or NOT_RECORDED,
        "podEnded": facts.get("reason") or facts.get("phase") or NOT_RECORDED,
        "throttling": _throttling(record["consumption"]["throttledPeriods"].get("value")),
    }


def _throttling(periods: int | None) -> str:
    return NOT_RECORDED if periods is None else "some" if periods else "none"


def models(record: JsonObject) -> list[str]:
    """The models that answered."""
    return sorted(record["usage"]["answeredModels"].get("value") or ())


def oom_kills(record: JsonObject) -> int | None:
    """Kills for lack of memory in the agent's own cgroup; None where nobody counted."""
    told, pod = record["environment"]["agent"].get("oomKills"), record["pods"].get("agent") or {}
    counts = [each for each in told.values() if isinstance(each, int)] if isinstance(told, dict) else []
    containers = ((pod.get("facts") or {}).get("containers") or {}).values()
    killed = any(each.get("reason") == "OOMKilled" for each in containers)
    if not counts:
        return 1 if killed else None
    return max(sum(counts), int(killed))


def _kills(record: JsonObject) -> str:
    kills = oom_kills(record)
    return NOT_RECORDED if kills is None else str(kills)


def _text(told: Any) -> str:
    if told is None:
        return NOT_RECORDED
    return told if isinstance(told, str) else json.dumps(told, sort_keys=True, separators=(",", ":"))


def money(sample: Sample) -> list[Num]:
    """What all begun runs cost, by arm."""
    made = []
    for arm in sample.arms:
        begun = [row for row in sample.of(None, arm) if row.begun]
        spent = numbers(begun, "cost")
        whole = sum(spent, Fraction(0)) if spent and len(spent) == len(begun) else None
        made.append(Num("sum", of("begun", "cost", arm=arm), whole, counts={"n": len(spent)}))
    return made
