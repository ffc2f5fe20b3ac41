"""The result on one screen: the verdict, what it permits to say, out of how many runs, and what it does not say."""

from fairtrial_analysis.html import numbers, words
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, tag
from fairtrial_analysis.html.section import Section, bullets, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, lines, table
from fairtrial_analysis.report.values import Number

_MEANS = {
    "SUPPORTED": "Every gate was passed and every condition of the frozen decision rule holds.",
    "NOT SUPPORTED": "At least one condition of the frozen decision rule does not hold.",
    "INCONCLUSIVE": "The frozen rule can't be decided: a gate was not passed, or a condition is unknown.",
    None: "This cohort has no decision rule. Its numbers are described and nothing is concluded from them.",
}


def result(lookup: Lookup) -> Section:
    """The section."""
    return section(
        "result",
        "Result",
        _verdict(lookup),
        _warnings(lookup),
        bullets(_sentences(lookup)),
        _counts(lookup),
        tag("h3", "What this does not say"),
        bullets(_limits(lookup)),
    )


def _verdict(lookup: Lookup) -> Element:
    executive, cohort = lookup.report.executive, lookup.report.cohort
    word = executive.verdict
    shown = words.VERDICTS[word] if word else "unknown"
    because: list[Element | str] = []
    for number, name in enumerate(executive.because):
        because += [", "] if number else ["Decided by: "]
        because.append(tag("a", name, href=f"#{identifier('row', name)}"))
    return tag(
        "div",
        tag("p", words.glyph(shown), word or "NO VERDICT", class_="word"),
        paragraph(_MEANS[word]),
        paragraph(*because, ".") if because else None,
        _claim(word, cohort.permitted_claim),
        class_=f"verdict {shown}",
    )


def _claim(word: str | None, claim: str) -> Element | None:
    if not claim:
        return None
    says = {
        "SUPPORTED": "The sentence that this verdict permits, as it was fixed before the first run:",
        None: "Without a verdict, nothing here permits the sentence that was to be shown:",
    }.get(word, "This verdict does not permit the sentence that was to be shown:")
    return tag("div", paragraph(says), tag("p", f"“{claim}”", class_="claim"))


def _sentences(lookup: Lookup) -> list[Element | str]:
    """What the box above does not say already."""
    word, claim = lookup.report.executive.verdict, lookup.report.cohort.permitted_claim
    said = lookup.report.executive.says
    return [
        each for each in said if not (word and each.startswith(f"{word},")) and not (claim and each.endswith(claim))
    ]


def _warnings(lookup: Lookup) -> Element | None:
    warnings = lookup.report.executive.warnings
    if not warnings:
        return None
    items = (
        tag("li", each.says, *((" Runs: ", lookup.named(each.runs), ".") if each.runs else ())) for each in warnings
    )
    return tag(
        "div", tag("h3", "Read this first"), tag("ul", *items), class_="warnings", role="note", aria_label="Warnings"
    )


def _counts(lookup: Lookup) -> Element:
    """Success of each candidate with everything that its rate is a share of."""
    report = lookup.report
    rates = {rate.of.arm: rate for rate in report.success.rates}
    telemetry = [each for each in report.executive.telemetry if each.of.metric]
    metrics = list(dict.fromkeys(each.of.metric for each in telemetry))
    columns = [
        Column("Candidate", "head"), Column("Scheduled", "number"), Column("Replacements", "number"),
        Column("No judgement", "number"), Column("Not run", "number"), Column("Valid", "number"),
        Column("Passed", "number"), Column("Success rate, 95 % interval", "number"),
        *(Column(f"With {numbers.metric(str(metric))}", "number") for metric in metrics),
    ]  # fmt: skip
    rows: list[Listed] = []
    for arm in lookup.arms:
        flow, rate = lookup.flows.get(arm.name), rates.get(arm.name)
        if flow is None:
            continue
        lost = flow.invalid + flow.void + flow.cancelled
        valid = flow.passed + flow.failed
        have = {each.of.metric: each for each in telemetry if each.of.arm == arm.name}
        rows.append(
            [
                lookup.key(arm.name),
                lookup.count(flow.scheduled, arm.name),
                lookup.count(flow.replacements, arm.name),
                tag("a", str(lost), href="#lost", class_="ev") if lost else "0",
                lookup.count(flow.not_run, arm.name),
                lookup.count(valid, arm.name),
                lookup.count(flow.passed, arm.name),
                _rate(lookup, rate),
                *(_coverage(lookup, have.get(metric)) for metric in metrics),
            ]
        )
    return table("result-counts", "Runs and success by candidate", columns, rows, note=_of_all(lookup))


def _of_all(lookup: Lookup) -> str:
    executive = lookup.report.executive
    design = lookup.report.design
    return (
        f"{executive.planned} runs planned ({len(design.tasks)} tasks, {len(design.arms)} candidates, "
        f"{design.repetitions} repetitions); {executive.valid} valid, {executive.unjudged} without a judgement. "
        "Failed runs are valid. Intervals are Wilson's and speak of these tasks only."
    )


def _rate(lookup: Lookup, rate: Number | None) -> Element | str:
    if rate is None:
        return numbers.NO_VALUE
    if rate.value is None:
        return numbers.absent(rate)
    interval = tag("span", numbers.between(rate.interval, numbers.percent), class_="of")
    return lines([lookup.evidence(rate, numbers.percent(rate.value)), interval])


def _coverage(lookup: Lookup, number: Number | None) -> Element | str:
    if number is None:
        return numbers.NO_VALUE
    if number.value is None:
        return numbers.absent(number)
    return lookup.evidence(number, f"{number.numerator} of {number.denominator}")


def _limits(lookup: Lookup) -> list[Element | str]:
    design, cohort = lookup.report.design, lookup.report.cohort
    found: list[Element | str] = [
        f"It speaks of these {len(design.tasks)} tasks, these candidates as they are pinned here, and the machines "
        "they ran on. What holds for other tasks is told only by intervals over tasks, as far as these stand for them.",
        "Sensitivity readings, secondary measures and single tasks are described. None of them is the verdict.",
    ]
    if cohort.stage != "confirmatory":
        found.insert(0, f"This is a {cohort.stage} cohort: nothing in it is confirmatory evidence.")
    warned = {each.code for each in lookup.report.executive.warnings}
    found += [each.says for each in lookup.report.limitations if each.source == "derived" and each.code not in warned]
    found.append(tag("span", "More under ", tag("a", "Limitations", href="#limitations"), "."))
    return found
