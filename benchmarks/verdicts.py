"""How often a rule says SUPPORTED where there is nothing to support, and how often where there is: by simulation.

The very code that decides later is applied to synthetic cohorts of known truth (`fairtrial_analysis.rule.truths`), with
the rule that ships for paired experiments and with that of the example cohort. A rate has its Wilson interval. The same
seed gives the same numbers, on any machine.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from fairtrial_analysis.rule.model import DecisionRule, rule_of_spec
from fairtrial_analysis.rule.results import Design
from fairtrial_analysis.rule.shipped import paired_rule
from fairtrial_analysis.rule.simulate import GRID, Characteristic, simulate
from fairtrial_analysis.rule.truths import Truth
from fairtrial_analysis.stats.proportions.wilson import wilson

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "cohorts" / "paired.yaml"
ARMS = ("treatment", "control")
TASKS, REPETITIONS = 10, 5
SEED, NULL, OTHER = 20260723, 4_000, 1_000  # cohorts of each truth
# No difference between the candidates: whatever is supported here is supported falsely.
NULLS: tuple[Truth, ...] = (
    Truth("no_effect"),
    Truth("no_effect_all_pass", control_rate=1, treatment_rate=1),
    Truth("no_effect_half_pass", control_rate=0.5, treatment_rate=0.5),
    Truth("no_effect_runs_vary_widely", within_log_sd=1.0),
    Truth("no_effect_runs_are_lost", invalid_rate=0.03, missing_rate=0.02),
    Truth("no_effect_but_tasks_differ", effect_log_sd=0.3, effect_logit_sd=1.0),
)


def measure() -> dict[str, Any]:
    """How often each verdict came, by rule and truth."""
    design = Design(tuple(f"task-{number:02}" for number in range(1, TASKS + 1)), ARMS, REPETITIONS)
    return {
        name: {
            "sha256": rule.sha256,
            "truths": [_told(simulate(rule, design, truth, SEED, count)) for truth, count in _truths()],
        }
        for name, rule in rules().items()
    }


def rules() -> dict[str, DecisionRule]:
    """The rule that ships, and that of the example cohort."""
    cohort = next(one for one in yaml.safe_load_all(EXAMPLE.read_text("utf-8")) if one["kind"] == "BenchmarkCohort")
    return {"paired": paired_rule(*ARMS), "example cohort": rule_of_spec(cohort["spec"]["decisionRule"], *ARMS)}


def _truths() -> list[tuple[Truth, int]]:
    known = {truth.name for truth in NULLS}
    return [(truth, NULL) for truth in NULLS] + [(truth, OTHER) for truth in GRID if truth.name not in known]


def _told(found: Characteristic) -> dict[str, Any]:
    counts = {
        "supported": found.supported.numerator,
        "notSupported": found.not_supported.numerator,
        "inconclusive": found.inconclusive.numerator,
    }
    interval = wilson(found.supported.numerator, found.replicates)
    assert interval.low is not None
    assert interval.high is not None
    ends = [round(100 * float(interval.low), 2), round(100 * float(interval.high), 2)]
    return {"truth": found.truth.name, "cohorts": found.replicates, **counts, "supportedPercent95": ends}


def write_page() -> None:
    """Write the numbers into `verdicts.md`, after the line that says where they begin."""
    page, marker = HERE / "verdicts.md", "<!-- numbers -->\n"
    held = json.loads((HERE / "results" / "verdicts.json").read_text())["measured"]
    said = page.read_text("utf-8").partition(marker)[0]
    page.write_text(said + marker + "".join(_table(name, one) for name, one in held.items()), "utf-8")


def _table(name: str, held: dict[str, Any]) -> str:
    lines = [
        f"\n## Rule `{name}`\n",
        "| if this were true | cohorts | SUPPORTED (95 % interval) | NOT SUPPORTED | INCONCLUSIVE |",
        "|---|---|---|---|---|",
    ]
    for one in held["truths"]:
        shares = {key: f"{100 * one[key] / one['cohorts']:.1f} %" for key in ("notSupported", "inconclusive")}
        low, high = one["supportedPercent95"]
        supported = f"**{100 * one['supported'] / one['cohorts']:.2f} %** ({low} to {high})"
        cells = (one["truth"].replace("_", " "), f"{one['cohorts']:,}", supported, *shares.values())
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
