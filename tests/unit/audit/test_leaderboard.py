"""A leaderboard of three candidates is computed again by the verifier, and whatever was changed in it is told."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from fairtrial.audit.numbers import compare
from fairtrial.audit.numbers.distributions import counted_flip
from fairtrial.audit.verify import Result
from fairtrial.documents import dump
from tests.unit.audit.world import World, cohort, happened, packaged, relisted

EXPECTED: list[Any] = []
Checked = Callable[[dict[str, bytes]], Result]
REPORT = "data/analysis/report.json"


@cache
def world() -> World:
    """Two candidates with roles, and a third that fails nowhere."""
    candidates = cohort().spec.as_json()["candidates"]
    third = {key: value for key, value in candidates[0].items() if key != "role"} | {"name": "thrice"}
    made = happened(cohort(stage="pilot", decisionRule=None, candidates=[*candidates, third]))
    made.pages[-1][1][0]["counts"] = {"scheduled": 30, "replacements": 1, "passed": 26, "failed": 4, "invalid": 1}
    return made


@cache
def package() -> dict[str, bytes]:
    return packaged(world())


def with_board(change: Callable[[Any], Any]) -> dict[str, bytes]:
    """The package with another leaderboard, listed and signed by whoever holds the analysis's key."""
    report = json.loads(package()[REPORT])
    change(report["leaderboard"])
    return relisted(package() | {REPORT: dump(report)}, world())


def test_a_leaderboard_of_three_follows_from_the_records(checked: Checked):
    board = json.loads(package()[REPORT])["leaderboard"]

    assert [(one["arm"], one["rank"]["value"]) for one in board["standings"]] == [
        ("thrice", 1),
        ("twice", 2),
        ("once", 3),
    ]
    assert checked(package()).findings.codes == set()


def kept(expected: Any) -> Any:
    EXPECTED.append(expected)
    return expected


@pytest.mark.parametrize(
    "change",
    [
        lambda board: board["standings"][1]["rank"].update(value=1),
        lambda board: board["standings"][0]["rank"]["interval"].update(high=1),
        lambda board: board["standings"][0]["rank"].update(method="dense_rank"),
        lambda board: board["standings"][0]["rank"]["interval"].update(method="bootstrap_rank"),
        lambda board: board["standings"][0]["tiedWith"].pop(),
        lambda board: board["standings"][0]["score"].update(value=0.5, exact="1/2"),
        lambda board: board["standings"].reverse(),
        lambda board: board["pairs"].pop(),
        lambda board: board["pairs"][0].update(apart=True),
        lambda board: board["pairs"][0]["adjusted"].update(value=0.01, exact="1/100"),
        lambda board: board["pairs"][0]["difference"]["of"].pop("against"),
        lambda board: board["leftOut"].append(board["tasks"].pop()),
        lambda board: board.update(smallest=board["smallest"] | {"state": "measured", "value": 0.1, "exact": "1/10"}),
        lambda board: board.update(winner="once"),
    ],
)
def test_whatever_is_changed_on_the_leaderboard_is_told(
    change: Callable[[Any], Any], checked: Checked, monkeypatch: pytest.MonkeyPatch
):
    follows = compare._expected  # from records that are the same each time
    monkeypatch.setattr(compare, "_expected", lambda seen: EXPECTED[0] if EXPECTED else kept(follows(seen)))

    result = checked(with_board(change))

    assert result.findings.codes == {"REPORT_NOT_RECOMPUTABLE"}
    assert all("leaderboard" in one.says for one in result.findings)


def test_flips_of_hundreds_of_tasks_are_counted():
    assert counted_flip([1] * 400) == 2 / 2**400
