"""The published numbers are of the rules as they are."""

import json
from pathlib import Path

from benchmarks import verdicts

PAGE = Path("benchmarks/verdicts.md").read_text("utf-8")
MEASURED = json.loads(Path("benchmarks/results/verdicts.json").read_text("utf-8"))["measured"]


def test_what_was_simulated_are_the_rules_that_ship():
    assert {name: held["sha256"] for name, held in MEASURED.items()} == {
        name: rule.sha256 for name, rule in verdicts.rules().items()
    }


def test_the_page_has_the_numbers_that_were_measured():
    assert PAGE.endswith("".join(verdicts._table(name, held) for name, held in MEASURED.items()))


def test_without_an_effect_hardly_anything_is_supported():
    nulls = {truth.name for truth in verdicts.NULLS}
    for held in MEASURED.values():
        found = [one for one in held["truths"] if one["truth"] in nulls]
        assert len(found) == len(nulls)
        assert all(one["supportedPercent95"][1] < 5 for one in found)
