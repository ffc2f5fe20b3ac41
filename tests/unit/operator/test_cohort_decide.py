"""Decisions about cohorts: acceptance and seal as a table, and whole lives in which time, runs and crashes are data."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fairtrial_operator.accept import NamespaceView
from fairtrial_operator.cohorts.decide import decide
from fairtrial_operator.cohorts.draft import CohortDraft, eta
from fairtrial_operator.cohorts.members import Member, member_of
from fairtrial_operator.cohorts.seen import (
    Append,
    Blocks,
    CancelRuns,
    CohortDecision,
    CohortSeen,
    CompareBlocks,
    CreateRuns,
    DeleteRuns,
    PutPreregistration,
    SignLedger,
    Trouble,
    WriteCohort,
)
from fairtrial_operator.draft import stamp
from fairtrial_operator.seen import Stored

from fairtrial import documents, names
from fairtrial.api import BenchmarkCohort, Cancel, CohortCounts, find_condition
from fairtrial.api.cohort import CohortAnalysis
from fairtrial.api.conditions import COHORT_CONDITIONS
from fairtrial.cohort import ledger as ledgers
from fairtrial.cohort import preregistration
from fairtrial.cohort.preregistration import Found
from fairtrial.cohort.replacement import Evidence
from fairtrial.cohort.schedule import schedule_of
from fairtrial.testing import make_cohort, make_resource_class, make_task

NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LABELS = {"pod-security.kubernetes.io/enforce": "restricted", names.NAMESPACE_LABEL: "true"}
NAMESPACE = NamespaceView("trials", LABELS, True, True)
TASKS = {"task-1": make_task(), "task-2": make_task("task-2", publicArchive={"sha256": "f" * 64, "size": 1})}
FOUND = Found(TASKS, make_resource_class(), {})
STORED = Stored("s3://b/p.json", "1" * 64, signed="unsigned: no key")
CAPABILITIES = ledgers.LedgerEntry("capabilities", sha256="3" * 64, found={"winners": 1})


def said(cohort: BenchmarkCohort, kind: str) -> tuple[str, str]:
    found = find_condition(cohort.status.conditions, kind)
    return (found.status, found.reason) if found else ("", "")


def written(cohort: BenchmarkCohort, decision: CohortDecision) -> BenchmarkCohort:
    assert isinstance(decision.action, WriteCohort), decision
    return cohort.model_copy(update={"status": decision.action.status})


# --- before the seal --------------------------------------------------------------------------------------------------
def test_a_draft_is_accepted_and_waits_to_be_sealed() -> None:
    cohort = make_cohort()
    seen = CohortSeen(NAMESPACE, found=FOUND)

    draft = written(cohort, decide(cohort, seen, NOON))

    assert (said(draft, "Accepted"), said(draft, "Sealed")) == (("True", "Resolved"), ("False", "NotAsked"))
    assert (draft.status.phase, draft.status.progress) == ("Draft", "0/20")
    assert draft.status.schedule_sha256 == schedule_of(cohort).sha256
    assert decide(draft, seen, NOON) == CohortDecision()


BAD_TASK = {"name": "task-1", "publicSha256": "0" * 64, "sealedSha256": "b" * 64}
PROVIDED = {"resourceClassName": "small", "network": {"modelProviderRef": {"name": "p"}}}
WITHOUT = Found(TASKS | {"task-2": None}, FOUND.resource_class, {})


@pytest.mark.parametrize(
    ("spec", "seen", "reason", "tells"),
    [
        ({}, {"namespace": None}, "NamespaceNotEnabled", "kubectl label namespace"),
        ({}, {"namespace": replace(NAMESPACE, labels={})}, "PodSecurityNotEnforced", "restricted"),
        ({}, {"found": WITHOUT}, "TaskNotFound", "task-2"),
        ({}, {"found": replace(FOUND, resource_class=None)}, "ResourceClassNotFound", "resourceClassName"),
        ({"tasks": [BAD_TASK]}, {}, "DigestMismatch", "publicSha256"),
        ({"execution": PROVIDED}, {}, "ModelProviderNotFound", "spec.execution.network.modelProviderRef"),
        ({"amends": {"name": "old", "reason": "x"}}, {}, "NotAcceptable", "there is no cohort 'old' here"),
        ({"treatment": {"says": "x", "parts": ["files"]}}, {}, "NotAcceptable", "spec.treatment.parts"),
    ],
)
def test_a_cohort_that_can_not_be_sealed_says_which_field_and_what_to_do(
    spec: dict[str, Any], seen: dict[str, Any], reason: str, tells: str
) -> None:
    cohort = make_cohort(seal=True, **spec)

    decision = decide(cohort, CohortSeen(**({"namespace": NAMESPACE, "found": FOUND} | seen)), NOON)

    refused = written(cohort, decision)
    assert said(refused, "Accepted") == ("False", reason)
    condition = find_condition(refused.status.conditions, "Accepted")
    assert condition is not None
    assert tells in condition.message
    assert decision.event is not None
    assert decision.event.reason == "Refused"


def test_sealing_stores_the_same_bytes_however_often_the_operator_dies() -> None:
    cohort, seen = make_cohort(seal=True), CohortSeen(NAMESPACE, found=FOUND)

    first, second = decide(cohort, seen, NOON), decide(cohort, seen, NOON + timedelta(hours=1))

    assert isinstance(first.action, PutPreregistration)
    assert first == second
    assert preregistration.verify(first.action.data) == []


def test_a_stored_preregistration_seals_and_is_told_in_an_event() -> None:
    cohort = make_cohort(seal=True)

    decision = decide(cohort, CohortSeen(NAMESPACE, found=FOUND, sealed=STORED), NOON)

    sealed = written(cohort, decision)
    assert (said(sealed, "Sealed"), sealed.status.phase) == (("True", "Stored"), "Sealed")
    assert sealed.status.preregistration_sha256 == "1" * 64
    assert (decision.event.reason, decision.warning) == ("Sealed", False)  # type: ignore[union-attr]
    assert "unsigned: no key" in decision.event.message  # type: ignore[union-attr]
    assert "unsigned: no key" in find_condition(sealed.status.conditions, "Sealed").message  # type: ignore[union-attr]


def test_of_many_problems_their_number_comes_first() -> None:
    twice = {"tasks": [BAD_TASK, BAD_TASK | {"name": "task-2"}], "treatment": {"says": "x", "parts": ["files"]}}

    refused = written(make_cohort(**twice), decide(make_cohort(**twice), CohortSeen(NAMESPACE, found=FOUND), NOON))

    told = find_condition(refused.status.conditions, "Accepted")
    assert told is not None
    assert told.message.startswith("3 problems, all shown by `fairtrial plan`: spec.treatment.parts")


@pytest.mark.parametrize("text", ["x", "\N{HIRAGANA LETTER A}", '"', "\n", "\x01"])
def test_a_status_stays_under_8_kib_whatever_it_says(text: str) -> None:
    cohort = make_cohort("c" * 63, namespace="n" * 63)
    draft = CohortDraft(cohort, NOON).set(**dict.fromkeys(DIGESTS, "1" * 64), **dict.fromkeys(URIS, "s" * 400))
    draft.set(counts=CohortCounts(**dict.fromkeys(CohortCounts.model_fields, 20000)), message=text * 5000)
    draft.set(analysis=CohortAnalysis(**ANALYSIS), next_index=20000, ledger_entries=60000)  # type: ignore[arg-type]
    draft.once(sealed_at=draft.now, started_at=draft.now, finished_at=draft.now)
    for kind in COHORT_CONDITIONS:
        draft.say(kind, "False", "AnalysisImageNotAllowed", text * 5000)

    status = draft.done()

    said = json.dumps(status.as_json(), ensure_ascii=False, separators=(",", ":"))  # as it is stored
    assert len(said.encode()) < 8192
    assert all(one.message.endswith("…") for one in status.conditions)


DIGESTS, URIS = ("preregistration_sha256", "schedule_sha256"), ("preregistration_uri",)
ANALYSIS = {
    "request": "r" * 64,
    "ledger_entries": 60000,
    "job": "j" * 63,
    "package_uri": "s" * 400,
    "package_sha256": "1" * 64,
    "report_sha256": "1" * 64,
    "verdict": "NOT SUPPORTED",
    "analysed_at": "2026-01-01T12:00:00Z",
}


@pytest.mark.parametrize(
    ("problem", "reason"),
    [("unavailable", "StoreUnavailable"), ("conflict", "SealConflict"), ("signing", "SigningFailed")],
)
def test_a_seal_that_does_not_hold_is_tried_again_and_nothing_begins(problem: Any, reason: str) -> None:
    cohort = make_cohort(seal=True)
    seen = CohortSeen(NAMESPACE, found=FOUND, sealed=Stored(problem=problem, message="why"))

    refused = written(cohort, decide(cohort, seen, NOON))

    assert said(refused, "Sealed") == ("False", reason)
    assert refused.status.preregistration_sha256 is None
    assert decide(refused, seen, NOON).retry


def test_a_cohort_that_is_cancelled_before_its_seal_is_complete_and_nothing_of_it_ran() -> None:
    cohort = make_cohort(cancel={"reason": "no"})

    over = written(cohort, decide(cohort, CohortSeen(NAMESPACE, found=FOUND), NOON))

    assert (said(over, "Complete"), over.status.phase) == (("True", "Cancelled"), "Cancelled")
    assert over.status.counts.adds_up
    assert over.status.counts.not_run == 20
    assert decide(over, CohortSeen(NAMESPACE), NOON) == CohortDecision()


# --- a whole life -----------------------------------------------------------------------------------------------------
@dataclass
class Life:
    """A sealed cohort, its ledger in a store, and its runs on an API server: what survives a crash."""

    cohort: BenchmarkCohort
    now: datetime = NOON
    pages: list[bytes] = field(default_factory=list)
    runs: dict[str, Any] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    batch: int = 32
    refused: Trouble | None = None
    outranked: bool = False
    blocks: Blocks | None = None
    finds: tuple[int, str] = (0, "")
    signed: set[int] | None = None  # None: this operator has no key

    @classmethod
    def of(cls, **spec: Any) -> "Life":
        cohort = make_cohort(seal=True, **spec)
        return cls(written(cohort, decide(cohort, CohortSeen(NAMESPACE, found=FOUND, sealed=STORED), NOON)))

    @property
    def ledger(self) -> ledgers.Ledger:
        return ledgers.read(self.cohort.metadata.name, self.cohort.metadata.uid, self.pages)

    @property
    def members(self) -> Mapping[str, Member]:
        return {name: member_of(raw) for name, raw in self.runs.items()}

    def seen(self, **changes: Any) -> CohortSeen:
        ledger, members = self.ledger, self.members
        invalid = {
            name: Evidence("invalid", raw["status"]["invalidity"], raw["status"]["reason"])
            for name, raw in self.runs.items()
            if raw.get("status", {}).get("outcome") == "invalid"
        }
        good: dict[str, Any] = {
            "schedule": schedule_of(self.cohort),
            "ledger": ledger,
            "members": members,
            "evidence": invalid,
            "absent": frozenset(name for name in ledger.open if name not in members),
            "batch": self.batch,
            "refused": self.refused,
            "outranked": self.outranked,
            "blocks": self.blocks,
            "capabilities": CAPABILITIES,
            "to_sign": [] if self.signed is None else sorted(set(ledger.checkpoints) - self.signed),
        }
        return CohortSeen(NAMESPACE, **(good | changes))

    def step(self, **changes: Any) -> CohortDecision:
        """One decision, carried out."""
        decision = decide(self.cohort, self.seen(**changes), self.now)
        match decision.action:
            case Append(entries=entries):
                self.pages.append(self.ledger.page(entries, stamp(self.now)).to_bytes())
            case CreateRuns(bodies=bodies):
                for body in bodies:
                    name = body["metadata"]["name"]
                    if name not in self.runs:
                        self.created.append(name)
                    self.runs.setdefault(name, body | {"metadata": body["metadata"] | {"uid": f"uid-{name}"}})
            case CancelRuns(names=stopped, reason=reason):
                for name in stopped:
                    self.runs[name]["spec"]["cancel"] = {"reason": reason}
                self.cancelled += stopped
            case DeleteRuns(names=gone):
                for name in gone:
                    del self.runs[name]
            case SignLedger(sizes=sizes):
                assert self.signed is not None
                self.signed.update(sizes)
            case CompareBlocks():
                self.blocks = Blocks(*self.finds)
            case WriteCohort(status=status):
                self.cohort = self.cohort.model_copy(update={"status": status})
        return decision

    def rest(self, **changes: Any) -> CohortDecision:
        """Go on until nothing is to be done."""
        for _ in range(500):
            decision = self.step(**changes)
            if decision.action is None:
                return decision
        raise AssertionError("it does not come to rest")

    def end(self, name: str, outcome: str = "passed", reason: str = "solved", invalidity: str = "") -> None:
        status = {"outcome": outcome, "reason": reason, "record": {"uri": "s3://b/r", "sha256": "2" * 64}}
        self.runs[name]["status"] = status | ({"invalidity": invalidity} if invalidity else {})

    def say(self, name: str, **status: Any) -> None:
        self.runs[name]["status"] = status

    def change(self, **spec: Any) -> None:
        self.cohort = self.cohort.model_copy(update={"spec": self.cohort.spec.model_copy(update=spec)})

    @property
    def under_way(self) -> list[str]:
        return [name for name, raw in self.runs.items() if not raw.get("status", {}).get("record")]


def test_runs_are_made_in_the_order_of_the_schedule_in_a_window() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 3})
    order = [entry.run for entry in schedule_of(life.cohort).entries]
    life.rest()
    assert life.created == order[:3]

    life.end(order[1])
    life.rest()

    assert life.created == order[:4]
    assert life.cohort.status.next_index == 5
    assert (life.cohort.status.phase, life.cohort.status.progress) == ("Running", "1/20")


def test_one_turn_creates_no_more_than_a_batch() -> None:
    life = Life.of()
    life.batch = 2

    decisions = [life.step() for _ in range(3)]

    assert [type(one.action) for one in decisions] == [Append, WriteCohort, CreateRuns]
    assert len(life.created) == 2


def test_tickets_do_not_run_ahead_of_runs() -> None:
    life = Life.of()
    life.batch = 4
    life.step()
    assert len(life.ledger.tickets) == 4

    life.rest(absent=frozenset())
    assert len(life.ledger.tickets) == 4
    life.batch = 3
    life.step()
    assert len(life.created) == 3


def test_a_run_that_is_not_what_the_schedule_says_keeps_the_cohort_from_completing() -> None:
    life = Life.of(tasks=[LONE], repetitions=1)
    life.rest()
    first, second = life.created
    life.runs[first]["spec"]["candidate"]["name"] = "another"
    life.end(second)

    life.rest()

    found = find_condition(life.cohort.status.conditions, "Complete")
    assert found is not None
    assert (found.status, found.reason) == ("False", "DoesNotAddUp")
    assert first in found.message


def test_no_run_exists_that_the_ledger_does_not_announce() -> None:
    life = Life.of()
    while not life.created:
        before = set(life.ledger.tickets)
        life.step()
    assert set(life.created) <= before
    entries = [entry.kind for entry in ledgers_entries(life)]
    assert entries[0] == "sealed"


def test_the_first_page_says_what_the_store_does_and_waits_until_that_is_known() -> None:
    life = Life.of()

    waiting = life.rest(capabilities=None)
    assert (life.pages, waiting.again_after) == ([], 1.0)
    life.rest()

    assert life.ledger.capabilities == replace(CAPABILITIES, number=2)


def test_roots_are_signed_before_what_they_announce_happens() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 3})
    life.signed = set()
    actions = [type(life.step().action) for _ in range(4)]
    assert [one for one in actions if one is not WriteCohort] == [Append, SignLedger, CreateRuns]
    assert life.signed == {life.ledger.size}

    for name in [entry.run for entry in schedule_of(life.cohort).entries]:
        life.rest()
        life.end(name)
    while life.cohort.status.finished_at is None:
        unsigned = set(life.ledger.checkpoints) - life.signed
        life.step()
        assert life.cohort.status.finished_at is None or not unsigned

    assert life.signed == set(life.ledger.checkpoints) > {life.ledger.size}


def test_an_operator_without_a_key_signs_nothing() -> None:
    life = Life.of()

    for _ in range(5):
        assert not isinstance(life.step().action, SignLedger)


def test_the_root_after_an_analysis_is_signed_before_anything_else() -> None:
    complete = {"type": "Complete", "status": "True", "reason": "AllAccountedFor", "observedGeneration": 1}
    complete |= {"lastTransitionTime": "2026-01-01T11:00:00Z"}
    over = make_cohort(seal=True, status={"preregistrationSha256": "1" * 64, "conditions": [complete]})

    assert decide(over, CohortSeen(NAMESPACE, to_sign=[7, 8], batch=1), NOON) == CohortDecision(SignLedger([7]))


def ledgers_entries(life: Life) -> list[ledgers.LedgerEntry]:
    ledger = life.ledger
    assert ledger.sealed is not None
    return sorted([ledger.sealed, *ledger.tickets.values(), *ledger.records.values()], key=lambda one: one.number)


def test_the_ramp_spreads_the_first_runs() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 10, "rampSeconds": 100})
    rest = life.rest()
    assert len(life.created) == 1
    assert rest.again_after == pytest.approx(10)

    life.now = NOON + timedelta(seconds=35)
    life.rest()
    assert len(life.created) == 4

    life.now = NOON + timedelta(seconds=500)
    life.rest()
    assert len(life.created) == 10


def test_an_invalid_run_is_replaced_at_once_with_its_identity_and_its_place() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 2})
    life.rest()
    first = life.created[0]

    life.end(first, "invalid", "evicted", "host_failure")
    life.rest()

    assert life.created == [first, life.created[1], f"{first}-r1"]
    spec = life.runs[f"{first}-r1"]["spec"]
    assert spec["replaces"] == {"name": first, "uid": f"uid-{first}"}
    assert spec["cohortRef"]["index"] == life.runs[first]["spec"]["cohortRef"]["index"]
    page = ledgers.documents.load(ledgers.LedgerPage, life.pages[-1])
    assert [entry.kind for entry in page.entries] == ["record", "replacement", "ticket"]


@pytest.mark.parametrize(
    ("outcome", "reason", "invalidity", "code"),
    [
        ("invalid", "evicted", "host_failure", "allowed"),
        ("invalid", "pod_deleted", "host_failure", "not_outside"),
        ("invalid", "unknown", "unknown", "not_preregistered"),
        ("invalid", "evaluator_preempted", "evaluator_infrastructure_failure", "not_preregistered"),
        ("failed", "tests_failed", "", None),
        ("void", "canary_leaked", "", None),
        ("cancelled", "cancelled", "", None),
    ],
)
def test_what_is_replaced(outcome: str, reason: str, invalidity: str, code: str | None) -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 1})
    life.rest()
    first = life.created[0]

    life.end(first, outcome, reason, invalidity)
    life.rest()

    decision = life.ledger.decisions.get(first)
    assert (decision.code if decision else None) == code
    assert (f"{first}-r1" in life.created) == (code == "allowed")


def test_a_cell_has_no_more_replacements_than_was_said() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 1})
    life.rest()
    for _ in range(3):
        life.end(life.under_way[0], "invalid", "evicted", "host_failure")
        life.rest()

    first = life.created[0]
    assert life.created[:3] == [first, f"{first}-r1", f"{first}-r2"]
    assert life.ledger.decisions[f"{first}-r2"].code == "cell_used_up"
    assert not life.created[3].startswith(first)


def test_two_that_end_together_share_what_their_cell_has_left() -> None:
    life = Life.of(
        execution={"resourceClassName": "small", "parallelism": 9},
        tasks=[LONE],
        repetitions=2,
        replacement={"reasons": ["host_failure"], "maxPerCell": 1},
    )
    life.rest()
    for name in list(life.created):
        life.end(name, "invalid", "evicted", "host_failure")

    life.rest()

    assert len(life.created) == 4 + 2
    codes = sorted(entry.code for entry in life.ledger.decisions.values())
    assert codes == ["allowed", "allowed", "cell_used_up", "cell_used_up"]


def outage(life: Life, lasts: int) -> None:
    """So many runs end as invalid, one after the other."""
    for _ in range(lasts):
        life.end(life.under_way[0], "invalid", "provider_outage", "provider_outage")
        life.rest()


def test_an_outage_costs_a_cohort_two_windows_of_runs_and_then_one_a_minute() -> None:
    life = Life.of(repetitions=50, execution={"resourceClassName": "small", "parallelism": 8})
    life.rest()
    outage(life, 16)
    assert len(life.created) == 8 + 15, "with the sixteenth in a row no further one follows"
    outage(life, 7)
    assert life.under_way == []

    rest = life.step()
    assert rest.again_after == 60
    assert said(life.cohort, "CapacityAvailable") == ("False", "InvalidInARow")
    told = find_condition(life.cohort.status.conditions, "CapacityAvailable")
    assert told is not None
    assert "The last 23 runs all ended as invalid (provider_outage 23)" in told.message

    for minute in range(1, 6):
        life.now = NOON + timedelta(minutes=minute)
        life.rest()
        assert len(life.under_way) == 1
        outage(life, 1)
        assert life.under_way == []

    life.now = NOON + timedelta(minutes=6)
    life.rest()
    life.end(life.under_way[0], "failed", "checks_failed")  # judged, whatever the judgement
    life.rest()

    assert len(life.under_way) == 8
    assert said(life.cohort, "CapacityAvailable") == ("True", "Available")


def test_an_outage_is_told_in_one_event() -> None:
    life, told = Life.of(repetitions=50, execution={"resourceClassName": "small", "parallelism": 2}), list[str]()
    life.rest()
    for _ in range(14):
        if life.under_way:
            life.end(life.under_way[0], "invalid", "provider_outage", "provider_outage")
        life.now += timedelta(minutes=1)
        while (decision := life.step()).action is not None:
            told += [decision.event.reason] if decision.event else []
    assert told == ["InvalidInARow"]


def test_one_accident_that_hits_all_runs_under_way_is_no_outage() -> None:
    life = Life.of(repetitions=50, execution={"resourceClassName": "small", "parallelism": 20})
    life.rest()
    for name in life.under_way:
        life.end(name, "invalid", "node_lost", "host_failure")
    life.rest()
    assert len(life.under_way) == 20


def test_a_cohort_ends_in_an_outage_and_is_not_held_once_its_last_run_is_created() -> None:
    execution = {"resourceClassName": "small", "parallelism": 1}
    life = Life.of(repetitions=3, replacement={"reasons": []}, execution=execution)
    life.rest()
    outage(life, 10)
    assert (life.under_way, said(life.cohort, "CapacityAvailable")) == ([], ("False", "InvalidInARow"))
    for minute in (1, 2):
        life.now = NOON + timedelta(minutes=minute)
        life.rest()
        last = len(life.created) == 12
        assert said(life.cohort, "CapacityAvailable")[1] == ("Available" if last else "InvalidInARow")
        outage(life, 1)
    assert said(life.cohort, "Complete") == ("True", "AllAccountedFor")


def test_suspension_creates_nothing_and_resumption_goes_on() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 2})
    life.rest()
    life.change(suspend=True)
    for name in list(life.created):
        life.end(name)
    rest = life.rest()

    assert len(life.created) == len(life.ledger.tickets) == 2
    assert not rest.demand
    assert life.cohort.status.phase == "Suspended"
    life.change(suspend=False)
    life.rest()
    assert len(life.created) == 4


def test_a_run_that_was_announced_and_not_created_waits_while_its_cohort_is_suspended() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 2})
    life.step()
    assert (len(life.ledger.tickets), life.created) == (2, [])

    life.change(suspend=True)
    life.rest()
    assert life.created == []

    life.change(suspend=False)
    life.rest()
    assert life.created == list(life.ledger.tickets)


ENDORSED = ledgers.LedgerEntry("endorsement", sha256="5" * 64)


def test_a_study_owner_may_sign_while_a_sealed_cohort_is_suspended() -> None:
    life = Life.of(suspend=True)
    life.rest()
    assert [entry.kind for entry in entries_of(life)] == ["sealed", "capabilities"]

    life.rest(endorsed=ENDORSED)
    life.change(suspend=False)
    life.rest(endorsed=ENDORSED)

    kinds = [entry.kind for entry in entries_of(life)]
    assert kinds[:4] == ["sealed", "capabilities", "endorsement", "ticket"]
    assert kinds.count("endorsement") == 1


def test_a_signature_that_is_found_with_the_first_tickets_stands_before_them() -> None:
    life = Life.of()

    life.rest(endorsed=ENDORSED)

    assert [entry.kind for entry in entries_of(life)][:4] == ["sealed", "capabilities", "endorsement", "ticket"]


def test_a_signature_that_comes_later_waits_for_the_end() -> None:
    life = Life.of()
    life.rest()

    life.rest(endorsed=ENDORSED)

    assert life.ledger.endorsement is None


def entries_of(life: Life) -> list[ledgers.LedgerEntry]:
    return [entry for data in life.pages for entry in documents.load(ledgers.LedgerPage, data, name="page").entries]


def test_a_cohort_of_lower_priority_waits_its_turn_and_says_so() -> None:
    life = Life.of()
    life.outranked = True

    rest = life.rest()

    assert life.created == []
    assert rest.demand
    assert rest.again_after is not None
    assert "higher priority" in (life.cohort.status.message or "")


def test_cancelling_stops_what_runs_and_counts_what_never_did() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 3})
    life.rest()
    life.end(life.created[0])
    life.end(life.created[1], "invalid", "evicted", "host_failure")
    life.change(cancel=Cancel(reason="enough"))
    life.rest()
    assert life.cancelled == [life.created[2]]
    assert life.runs[life.created[2]]["spec"]["cancel"] == {"reason": "Cohort cohort-1: enough"}
    assert said(life.cohort, "Complete")[0] == "False"
    assert life.ledger.decisions[life.created[1]].by == ""
    assert life.ledger.cancelled is not None
    assert life.ledger.cancelled.reason == "enough"

    life.end(life.created[2], "cancelled", "cancelled")
    life.rest()

    counts = life.cohort.status.counts
    assert (counts.passed, counts.invalid, counts.cancelled, counts.not_run, counts.pending) == (1, 1, 1, 17, 0)
    assert said(life.cohort, "Complete") == ("True", "Cancelled")
    assert counts.adds_up


def test_one_turn_stops_no_more_than_a_batch() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 5})
    life.rest()
    life.batch = 2
    life.change(cancel=Cancel(reason="enough"))
    while not life.cancelled:
        life.step()

    assert len(life.cancelled) == 2
    life.rest()
    assert sorted(life.cancelled) == sorted(life.created)


def test_waiting_runs_are_counted_by_their_reasons() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 3})
    life.rest()
    waiting = {"type": "AgentStarted", "status": "Unknown", "reason": "WaitingForCapacity", "message": "0/3 nodes"}
    refused = {"type": "Accepted", "status": "False", "reason": "DigestMismatch", "message": "changed"}
    life.say(life.created[0], phase="Waiting", conditions=[waiting])
    life.say(life.created[1], phase="Waiting", conditions=[waiting])
    life.say(life.created[2], phase="Pending", conditions=[refused])
    life.rest()

    found = find_condition(life.cohort.status.conditions, "CapacityAvailable")
    assert found is not None
    assert (found.status, found.reason) == ("False", "WaitingForCapacity")
    assert "3 of 3 runs under way wait: DigestMismatch 1, WaitingForCapacity 2." in found.message


def test_waiting_comes_and_goes_and_is_written_when_it_is_due() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 3})
    life.rest()
    waiting = {"type": "AgentStarted", "status": "Unknown", "reason": "WaitingForCapacity", "message": "0/3 nodes"}
    life.say(life.created[0], phase="Waiting", conditions=[waiting])

    decision = life.step(status_due_after=3.0, status_due=False)
    assert (decision.action, decision.again_after) == (None, 3.0)


def test_a_run_that_is_refused_is_waiting_and_tried_again() -> None:
    life = Life.of()
    life.refused = Trouble("QuotaExceeded", "exceeded quota: runs")

    rest = life.rest()
    life.rest(refused=None, refused_last=life.refused, absent=frozenset())

    assert rest.again_after == 10
    assert said(life.cohort, "CapacityAvailable") == ("False", "QuotaExceeded")
    assert not rest.demand


def test_a_run_that_had_a_pod_and_went_without_a_record_is_never_tried_again() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 1}, tasks=[LONE], repetitions=1)
    life.rest()
    first = life.created[0]
    del life.runs[first]
    life.rest(lost={first: f"uid-{first}"})
    assert life.created.count(first) == 1

    life.end(life.under_way[0])
    life.rest()

    counts = life.cohort.status.counts
    assert (counts.scheduled, counts.passed, counts.not_run, counts.pending) == (2, 1, 1, 0)
    assert said(life.cohort, "Complete") == ("True", "AllAccountedFor")


def test_a_run_is_lost_only_if_nobody_knows_it() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 1})
    life.rest()
    first = life.created[0]
    del life.runs[first]

    life.rest(lost={first: f"uid-{first}"}, absent=frozenset())

    assert life.ledger.lost == {}
    assert first in life.ledger.open


def test_an_invalid_run_does_not_end_before_its_record_was_read() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 1})
    life.rest()
    life.end(life.created[0], "invalid", "evicted", "host_failure")

    life.rest(evidence={})

    assert life.ledger.records == {}


def test_a_deleted_cohort_creates_nothing_and_leaves_its_ledger_without_an_end() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 2})
    life.rest()
    metadata = life.cohort.metadata.model_copy(update={"deletion_timestamp": "2026-01-01T12:00:00Z"})
    life.cohort = life.cohort.model_copy(update={"metadata": metadata})
    for name in life.created:
        life.end(name, "cancelled", "cancelled")
    life.rest()

    assert len(life.created) == len(life.ledger.records) == 2
    assert life.ledger.complete is None
    assert said(life.cohort, "Complete")[0] == "False"


LONE = {"name": "task-1", "publicSha256": "a" * 64, "sealedSha256": "b" * 64}


def test_a_cohort_that_is_never_idle_tells_where_it_is() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 2})
    life.rest()
    life.end(life.created[0])

    decision = life.step()

    assert isinstance(decision.action, WriteCohort)
    assert life.cohort.status.progress == "1/20"
    assert isinstance(life.step(status_due=False, status_due_after=3.0).action, Append)


def test_counts_alone_are_not_written_before_they_are_due() -> None:
    life = Life.of(execution={"resourceClassName": "small", "parallelism": 2})
    life.rest()
    life.end(life.created[0])

    rest = life.rest(status_due=False, status_due_after=4.0)

    assert rest.again_after == 4.0
    assert life.cohort.status.progress == "0/20"
    life.rest()
    assert life.cohort.status.progress == "1/20"


@pytest.mark.parametrize(("again", "event"), [(True, None), (False, "LedgerBroken")])
def test_without_its_ledger_nothing_is_done(again: bool, event: str | None) -> None:
    life = Life.of()
    trouble = Trouble("StoreUnavailable" if again else "LedgerBroken", "why", again=again)
    before = life.cohort

    decision = life.step(ledger=None, ledger_trouble=trouble)

    assert said(life.cohort, "Complete") == ("False", trouble.reason)
    assert (decision.event.reason if decision.event else None) == event
    assert life.step(ledger=None, ledger_trouble=trouble).retry
    assert life.created == []
    assert before.status.preregistration_sha256 == life.cohort.status.preregistration_sha256


@pytest.mark.parametrize(
    ("finds", "told"),
    [((0, ""), ("True", "BlocksEqual")), ((2, "task-1-0001: limits differs."), ("False", "BlocksDiffer"))],
)
def test_blocks_are_compared_once_when_all_runs_have_ended(finds: Any, told: Any) -> None:
    life = Life.of(tasks=[LONE], repetitions=1)
    life.finds = finds
    life.rest()
    life.end(life.created[0])
    life.rest()
    assert (life.blocks, said(life.cohort, "Comparable")) == (None, ("Unknown", "Pending"))

    life.end(life.created[1])
    life.rest()

    assert said(life.cohort, "Comparable") == told
    assert find_condition(life.cohort.status.conditions, "Comparable").message == finds[1]  # type: ignore[union-attr]
    assert life.cohort.status.blocks_not_comparable == finds[0]
    assert said(life.cohort, "Complete") == ("True", "AllAccountedFor")


def test_complete_is_for_ever_and_objects_go_when_their_time_is_over() -> None:
    life = Life.of(
        execution={"resourceClassName": "small", "parallelism": 9, "ttlSecondsAfterFinished": 60},
        tasks=[LONE],
        repetitions=1,
    )
    life.rest()
    for name in life.created:
        life.end(name)
    rest = life.rest()
    assert said(life.cohort, "Complete") == ("True", "AllAccountedFor")
    assert rest.again_after == 60
    status, pages = life.cohort.status, len(life.pages)

    life.say(life.created[0], phase="Running")
    assert life.rest().again_after == 60
    life.end(life.created[0])
    life.now = NOON + timedelta(seconds=61)
    held = life.runs[life.created[0]]["metadata"]
    held["finalizers"] = [names.RUN_FINALIZER]
    life.rest()
    assert list(life.runs) == [life.created[0]], "what the operator still holds goes later"
    held["finalizers"] = []
    life.rest()

    assert life.runs == {}
    assert (life.cohort.status, len(life.pages)) == (status, pages)


# --- property: whatever happens, in whatever order --------------------------------------------------------------------
ENDS = [
    ("passed", "solved", ""),
    ("failed", "tests_failed", ""),
    ("void", "canary_leaked", ""),
    ("cancelled", "cancelled", ""),
    ("invalid", "evicted", "host_failure"),
    ("invalid", "provider_outage", "provider_outage"),
    ("invalid", "pod_deleted", "host_failure"),
    ("invalid", "unknown", "unknown"),
]


@pytest.mark.parametrize("seed", range(25))
def test_every_run_is_accounted_for_and_only_infrastructure_is_replaced(seed: int) -> None:
    chance = random.Random(seed)
    parallelism = chance.randint(1, 7)
    life = Life.of(execution={"resourceClassName": "small", "parallelism": parallelism})
    life.batch = chance.randint(1, 5)
    ends: dict[str, tuple[str, str, str]] = {}
    told: list[str] = []
    for _ in range(3000):
        if chance.random() < 0.6:
            event = life.step().event
            told += [event.reason] if event else []
        elif life.under_way:
            name = chance.choice(life.under_way)
            ends[name] = chance.choice(ENDS)
            life.end(name, *ends[name])
        assert len(life.under_way) <= parallelism
        if said(life.cohort, "Complete")[0] == "True":
            break

    counts = life.cohort.status.counts
    assert said(life.cohort, "Complete") == ("True", "AllAccountedFor")
    assert counts.adds_up
    assert told == ["Complete"], "its end is an event, and nothing on the way"
    assert life.cohort.status.progress == f"{counts.done}/{counts.done}"
    assert counts.done == counts.scheduled + counts.replacements == len(life.runs) == len(set(life.created))
    for outcome in ("passed", "failed", "invalid", "void", "cancelled"):
        assert getattr(counts, outcome) == sum(end[0] == outcome for end in ends.values())
    cells: dict[Any, int] = {}
    for name, raw in life.runs.items():
        replaced = raw["spec"].get("replaces")
        if replaced:
            assert ends[replaced["name"]][1] in {"evicted", "provider_outage"}, name
            cell = (raw["spec"]["taskRef"]["name"], raw["spec"]["candidate"]["name"])
            cells[cell] = cells.get(cell, 0) + 1
    assert all(used <= 2 for used in cells.values())
    assert life.ledger.open == {}
    assert life.cohort.status.ledger_entries == life.ledger.size


@pytest.mark.parametrize(
    ("done", "left", "seconds", "text"),
    [
        (0, 5, 100, None),
        (5, 0, 100, None),
        (10, 1, 100, "<1m"),
        (10, 150, 100, "25m"),
        (1, 36, 200, "2h00m"),
        (1, 360, 200, "20h"),
        (1, 3600, 200, "8d"),
    ],
)
def test_eta(done: int, left: int, seconds: int, text: str | None) -> None:
    assert eta("2026-01-01T12:00:00Z", NOON + timedelta(seconds=seconds), done, left) == text
