"""Corrections are chained and name what they supersede; a gap, a fork, a cycle or another digest is refused."""

from dataclasses import replace
from typing import Any

import pytest

from fairtrial.errors import InvalidInput
from fairtrial.evidence.correction import Change, Correction, Superseded, apply, check_chain, load_correction

COHORT = ("trials", "example", "uid-1")
RECORDS = {run: Superseded(run, "u", run[1] * 64, 1) for run in ("r1", "r2")}
CHANGE = Change("interaction.wallMs", 60, 61)


def correction(number: int = 1, run: str = "r1", after: Correction | None = None, **changes: Any) -> Correction:
    """A good one; `after` is the correction before it in the chain."""
    good = Correction(
        number=number,
        kind="correction",
        namespace="trials",
        cohort="example",
        uid="uid-1",
        preregistration_sha256="p" * 64,
        previous_sha256=after.sha256 if after else "",
        reason="wrong_measurement",
        says="The clock was wrong.",
        role="auditor",
        at="2026-01-02T00:00:00Z",
        supersedes=RECORDS.get(run, Superseded(run, "u", "0" * 64, 1)),
        changes=[CHANGE],
    )
    return replace(good, **changes)


def faults(*given: Correction) -> list[tuple[str, int]]:
    _, found = check_chain([one.to_bytes() for one in given], COHORT, "p" * 64, RECORDS)
    return [(one.code, one.number) for one in found]


def superseding(before: Correction, **changes: Any) -> Superseded:
    assert before.supersedes is not None
    return replace(before.supersedes, correction_sha256=before.sha256, **changes)


FIRST = correction()
SECOND = correction(2, "r2", FIRST)
THIRD = correction(3, after=SECOND, supersedes=superseding(FIRST))


def test_a_chain_of_corrections_of_several_runs_is_taken_in_its_order():
    found, wrong = check_chain([one.to_bytes() for one in (FIRST, SECOND, THIRD)], COHORT, "p" * 64, RECORDS)

    assert wrong == []
    assert found == [FIRST, SECOND, THIRD]


def test_a_deviation_of_the_cohort_names_no_record():
    assert faults(correction(kind="deviation", supersedes=None, changes=[], reason="protocol_deviation")) == []


BROKEN: dict[str, tuple[list[Correction], tuple[str, int]]] = {
    "a gap": ([FIRST, replace(SECOND, number=3)], ("CORRECTION_GAP", 2)),
    "one left out": ([SECOND], ("CORRECTION_CHAIN", 1)),
    "a fork": ([FIRST, correction(2, after=FIRST)], ("CORRECTION_FORK", 2)),
    "a fork of an older one": (
        [FIRST, SECOND, THIRD, correction(4, after=THIRD, supersedes=superseding(FIRST))],
        ("CORRECTION_FORK", 4),
    ),
    "one that is nowhere": (
        [correction(supersedes=Superseded("r1", "u", "1" * 64, 1, "9" * 64))],
        ("CORRECTION_MISSING", 1),
    ),
    "another record": ([correction(supersedes=Superseded("r1", "u", "9" * 64, 1))], ("CORRECTION_DIGEST", 1)),
    "another run of its name": ([correction(supersedes=Superseded("r1", "v", "1" * 64, 1))], ("CORRECTION_DIGEST", 1)),
    "another place": ([correction(supersedes=Superseded("r1", "u", "1" * 64, 2))], ("CORRECTION_DIGEST", 1)),
    "no record": ([correction(run="r9")], ("CORRECTION_OF_NOTHING", 1)),
    "another cohort": ([correction(uid="uid-2")], ("CORRECTION_FOREIGN", 1)),
    "another preregistration": ([correction(preregistration_sha256="q" * 64)], ("CORRECTION_FOREIGN", 1)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_chain_with_a_fault_is_refused_with_its_code(name: str):
    given, fault = BROKEN[name]
    assert fault in faults(*given)


def test_a_correction_that_takes_the_place_of_a_later_one_is_a_cycle():
    later = correction(2, after=FIRST, supersedes=superseding(FIRST))
    data = [FIRST.to_bytes(), later.to_bytes()]
    # the first is made to name the second: no digest can be so, but whoever writes files can claim it
    claims = correction(supersedes=Superseded("r1", "u", "1" * 64, 1, later.sha256))
    _, found = check_chain([claims.to_bytes(), data[1]], COHORT, "p" * 64, RECORDS)

    assert "CORRECTION_CYCLE" in [one.code for one in found]


def test_what_is_not_canonical_is_a_fault():
    _, found = check_chain([FIRST.to_bytes() + b"\n"], COHORT, "p" * 64, RECORDS)
    assert [one.code for one in found] == ["CORRECTION_NOT_CANONICAL"]


@pytest.mark.parametrize(
    "field",
    [
        "identity.run", "lineage", "schemaVersion", "artifacts", "classification.outcome", "lineage.replaces.uid",
        "classification",  # it holds the outcome
    ],
)  # fmt: skip
def test_what_a_run_was_and_whether_it_passed_cannot_be_corrected(field: str):
    with pytest.raises(InvalidInput, match="can't be corrected"):
        load_correction(correction(changes=[Change(field, 1, 2)]).to_bytes())


@pytest.mark.parametrize("field", ["classification.category", "classification.cause", "usage.cost", "patch"])
def test_what_was_measured_and_how_a_failure_is_called_can_be(field: str):
    assert load_correction(correction(changes=[Change(field, 1, 2)]).to_bytes()).changes[0].field == field


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "void"}, "a void none"),
        ({"changes": []}, "at least one"),
        ({"supersedes": None}, "names the record"),
        ({"kind": "deviation"}, "changes nothing"),
    ],
)
def test_a_correction_says_no_more_and_no_less_than_its_kind(changes: dict[str, Any], why: str):
    with pytest.raises(InvalidInput, match=why):
        load_correction(correction(**changes).to_bytes())


def test_a_change_needs_to_know_what_was_there():
    record = {"interaction": {"wallMs": 60, "message": ""}}

    assert apply(record, [CHANGE]) == {"interaction": {"wallMs": 61, "message": ""}}
    assert record["interaction"]["wallMs"] == 60
    for wrong, why in (
        (replace(CHANGE, before=59), "before is not"),
        (replace(CHANGE, field="interaction.x"), "no such"),
    ):
        with pytest.raises(InvalidInput, match=why):
            apply(record, [wrong])
