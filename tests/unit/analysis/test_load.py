"""Records are taken as the ledger and the schedule say, or an error with its code stops a confirmatory verdict."""

import copy
import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.examples import CONTROL, TREATMENT, Came, Example, example
from fairtrial_analysis.load.ahead import AHEAD, in_order
from fairtrial_analysis.load.loaded import Loaded
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.source import FolderSource
from fairtrial_analysis.load.values import accounted_of
from fairtrial_analysis.rule.evaluate import evaluate

from fairtrial import documents
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.errors import InvalidInput, StoreError, StoreUnavailable
from fairtrial.evidence.correction import Change, Correction, Superseded
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.objects import GET_LIMIT
from fairtrial.evidence.record import load_record

WRONG_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2aff"


def story(fields: dict[str, Any] | None = None, outcome: str = "passed") -> Callable[..., Came]:
    """All pass; the treatment's first run of the first task is `outcome`, and its record has these fields."""

    def came(task: int, arm: str, repetition: int, attempt: int) -> Came:
        if (task, arm, repetition, attempt) == (1, TREATMENT, 1, 0):
            return Came(outcome, fields=fields or {})
        return Came()

    return came


def small(**changes: Any) -> Example:
    """Two tasks, two arms, five repetitions."""
    return example(changes.pop("story", story()), tasks=2, **changes) if changes else _whole()


@cache
def _whole() -> Example:
    return example(story(), tasks=2)


def first_run(made: Example) -> str:
    rows = load(made.source()).rows
    return next(row.run for row in rows if (row.task, row.arm, row.repetition) == ("task-01", TREATMENT, 1))


def damaged(made: Example, key: str, change: Callable[[bytes], bytes | None]) -> Example:
    """The same evidence, where objects whose key ends so are changed, or gone where the change gives None."""
    store = MemoryStore()
    for name, data in made.store.objects.items():
        kept = change(data) if name.endswith(key) else data
        if kept is not None:
            store.put(name, kept)
    return dataclasses.replace(made, store=store)


def codes(loaded: Loaded) -> set[str]:
    return {one.code for one in loaded.wrong}


def verdict(loaded: Loaded) -> str:
    assert loaded.plan.rule is not None
    return evaluate(loaded.plan.rule, loaded.results).verdict


def record_key(made: Example, run: str) -> str:
    return next(key for key in made.store.objects if f"/{run}/" in key and key.endswith("record.json"))


def test_whole_evidence_has_no_error_and_a_row_for_every_run():
    loaded = load(small(story=story(outcome="invalid")).source())

    assert loaded.wrong == ()
    assert loaded.findings == ()
    assert len(loaded.rows) == 21
    assert [row.index for row in loaded.rows] == sorted(row.index for row in loaded.rows)
    replacement = next(row for row in loaded.rows if row.replaces)
    assert replacement.run == f"{replacement.replaces}-r1"
    assert loaded.rows[loaded.rows.index(replacement) - 1].run == replacement.replaces


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"identity.run": "another-00001"}, "RECORD_FOREIGN"),
        ({"identity.namespace": "elsewhere"}, "RECORD_FOREIGN"),
        ({"lineage.cohort": "another"}, "RECORD_FOREIGN"),
        ({"lineage.preregistrationSha256": "7" * 64}, "RECORD_FOREIGN"),
        ({"identity.candidate": CONTROL}, "RECORD_MISPLACED"),
        ({"identity.repetition": 2}, "RECORD_MISPLACED"),
        ({"identity.block": "task-02-0001"}, "RECORD_MISPLACED"),
        ({"identity.task.name": "task-02"}, "RECORD_MISPLACED"),
        ({"lineage.scheduleIndex": 19}, "RECORD_MISPLACED"),
        ({"lineage.replaces": {"name": "example-00001", "uid": WRONG_UID}}, "RECORD_LINEAGE"),
        ({"identity.task.sealedSha256": {"state": "measured", "value": "8" * 64}}, "RECORD_CONFIGURATION"),
        ({"configuration.configurationSha256": "8" * 64}, "RECORD_CONFIGURATION"),
        ({"usage.extra": 1}, "RECORD_UNREADABLE"),
        ({"interaction.wallMs": {"state": "measured", "value": 1.5}}, "RECORD_UNREADABLE"),
        ({"interaction.wallMs": {"state": "measured", "value": 10**30}}, "RECORD_UNREADABLE"),
    ],
)
def test_a_record_that_is_not_what_it_should_be_is_an_error_and_no_verdict(fields: dict[str, Any], code: str):
    loaded = load(small(story=story(fields)).source())

    assert code in codes(loaded)
    assert verdict(loaded) == "INCONCLUSIVE"
    assert len(loaded.rows) == 20
    assert [row.outcome for row in loaded.rows].count("void") == 1


def changed_value(data: bytes) -> bytes:
    return data.replace(b'"passed"', b'"failed"', 1)


def test_a_record_with_other_bytes_than_the_ledger_says_is_an_error():
    made = small()
    loaded = load(damaged(made, record_key(made, first_run(made)), changed_value).source())

    assert codes(loaded) == {"RECORD_DIGEST"}
    assert verdict(loaded) == "INCONCLUSIVE"


def test_a_record_that_rotted_in_the_store_is_an_error():
    made = small(story=story())
    key = record_key(made, first_run(made))
    made.store.objects[key] = changed_value(made.store.objects[key])

    assert codes(load(made.source())) == {"RECORD_DIGEST"}


def test_a_record_that_is_gone_is_an_error():
    made = small()
    loaded = load(damaged(made, record_key(made, first_run(made)), lambda _: None).source())

    assert codes(loaded) == {"RECORD_NOT_STORED"}


def test_a_store_that_does_not_answer_is_no_finding(monkeypatch: pytest.MonkeyPatch):
    made = small()
    source = made.source()

    def unavailable(_run: str, _uid: str) -> bytes:
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(source, "record", unavailable)
    with pytest.raises(StoreUnavailable):
        load(source)


def without_last_entries(data: bytes) -> bytes:
    page = json.loads(data)
    del page["entries"][-1]
    return json.dumps(page, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("key", "change", "code"),
    [
        ("ledger/00000002.json", lambda _: None, "COHORT_INCOMPLETE"),
        (
            "ledger/00000004.json",
            lambda data: data.replace(b'"previousSha256":"', b'"previousSha256":"0'),
            "LEDGER_BROKEN",
        ),
        ("ledger/00000004.json", lambda data: data + b"\n", "LEDGER_NOT_CANONICAL"),
        ("ledger/00000004.json", lambda data: data.replace(b'"kind":"ticket"', b'"kind":"tocket"'), "LEDGER_BROKEN"),
        ("ledger/00000001.json", without_last_entries, "LEDGER_UNSEALED"),
        ("ledger/00000001.json", lambda data: data.replace(b'"sha256":"', b'"sha256":"0'), "PREREGISTRATION_DIGEST"),
        ("ledger/00000042.json", lambda data: data.replace(b'"passed":20', b'"passed":19'), "COUNTS_DISAGREE"),
        ("ledger/00000042.json", lambda _: None, "COHORT_INCOMPLETE"),
    ],
)
def test_a_ledger_that_does_not_hold_together_is_an_error(key: str, change: Any, code: str):
    loaded = load(damaged(small(), key, change).source())

    assert code in codes(loaded)
    assert verdict(loaded) == "INCONCLUSIVE"


def test_what_a_cut_ledger_does_not_tell_is_listed_as_never_run():
    loaded = load(damaged(small(), "ledger/00000010.json", lambda _: None).source())

    assert len(loaded.rows) == 20
    assert [row.outcome for row in loaded.rows].count("not_run") == 16


def test_a_preregistration_whose_schedule_is_not_of_its_seed_is_an_error():
    made = damaged(small(), "preregistration.json", lambda data: data.replace(b'"seed":20260723', b'"seed":1', 1))

    assert "PREREGISTRATION_CONTRADICTORY" in codes(load(made.source()))


# --- what a ledger says that was written anew, so that its chain holds ------------------------------------------------
Entries = list[dict[str, Any]]


def retold(made: Example, change: Callable[[Entries], Entries], put: dict[str, bytes] | None = None) -> Example:
    """The same evidence with a ledger of other entries, one to a page, and these objects by the ends of their keys."""
    store, here = MemoryStore(), made.layout.cohort(*made.address)
    pages = sorted(key for key in made.store.objects if key.startswith(here.ledger()))
    for key, data in made.store.objects.items():
        if key not in pages:
            ending = next((end for end in put or () if key.endswith(end)), None)
            store.put(key, data if ending is None or put is None else put[ending])
    told = [entry for key in pages for entry in json.loads(made.store.objects[key])["entries"]]
    ledger = Ledger(made.cohort.metadata.name, made.cohort.metadata.uid)
    for entry in change(copy.deepcopy(told)):
        fields = {key: value for key, value in entry.items() if key != "number"}
        data = ledger.page([LedgerEntry(**fields)], "2026-01-02T00:00:00Z").to_bytes()
        store.put(here.ledger_page(ledger.size + 1), data)
        ledger.take(data)
    return dataclasses.replace(made, store=store, size=ledger.size)


def of(kind: str, entries: Entries, run: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["kind"] == kind and entry["run"] == run)


def stored_as(made: Example, data: bytes) -> Example:
    """The first run's record has these bytes, and the ledger names their SHA-256."""
    run = first_run(made)

    def named(entries: Entries) -> Entries:
        of("record", entries, run)["sha256"] = hashlib.sha256(data).hexdigest()
        return entries

    return retold(made, named, {f"/{record_key(made, run).split('/runs/')[1]}": data})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda data: data + b"\n", "RECORD_NOT_CANONICAL"),
        (lambda data: json.dumps(json.loads(data), indent=1).encode(), "RECORD_NOT_CANONICAL"),
        (lambda data: data[:-20], "RECORD_UNREADABLE"),
        (lambda _: b"", "RECORD_UNREADABLE"),
        (
            lambda data: data.replace(b'"outcome":"passed"', b'"outcome":"failed","outcome":"passed"'),
            "RECORD_UNREADABLE",
        ),
        (lambda data: data.replace(b'"message":"', b'"message":"\xff'), "RECORD_UNREADABLE"),
        (lambda data: b"[" * 100_000, "RECORD_UNREADABLE"),
        (lambda data: data.replace(b'"value":60000', b'"value":NaN'), "RECORD_UNREADABLE"),
    ],
    ids=["a line's end", "indented", "truncated", "empty", "a key twice", "no UTF-8", "nested without end", "NaN"],
)
def test_a_record_of_other_bytes_that_the_ledger_names_is_an_error(change: Callable[[bytes], bytes], code: str):
    made = small()
    loaded = load(stored_as(made, change(made.store.objects[record_key(made, first_run(made))])).source())

    assert codes(loaded) == {code}
    assert verdict(loaded) == "INCONCLUSIVE"
    assert [row.outcome for row in loaded.rows].count("void") == 1


def other_outcome(entries: Entries, run: str) -> Entries:
    of("record", entries, run)["outcome"] = "failed"
    return entries


def undecided(entries: Entries, run: str) -> Entries:
    """An invalid run, and no word on whether it is replaced."""
    of("record", entries, run).update(outcome="invalid", invalidity="host_failure", reason="evicted")
    return entries


def never_ended(entries: Entries, run: str) -> Entries:
    return [entry for entry in entries if (entry["kind"], entry.get("run")) != ("record", run)]


def stranger(entries: Entries, run: str) -> Entries:
    """A ticket, and a record that is that of a scheduled run, under a name that is in no schedule."""
    own = [of(kind, entries, run) | {"run": "stranger-00001"} for kind in ("ticket", "record")]
    return [*entries[:-1], *own, entries[-1]]


def admitted_stranger(entries: Entries, run: str) -> Entries:
    return [*entries[:-1], of("ticket", entries, run) | {"run": "stranger-00001"}, entries[-1]]


def told_twice(entries: Entries, run: str) -> Entries:
    """The record of one run for another one as well."""
    other = next(entry for entry in entries if entry["kind"] == "record" and entry["run"] != run)
    first = of("record", entries, run)
    other["uid"], other["sha256"] = first["uid"], first["sha256"]
    return entries


def replaced_though_it_passed(entries: Entries, run: str) -> Entries:
    """Another try for a run that was judged, and never begun."""
    said = of("record", entries, run)
    granted = {
        "kind": "replacement", "run": run, "uid": said["uid"], "index": said["index"], "by": f"{run}-r1",
        "code": "allowed", "why": "It was too slow.",
    }  # fmt: skip
    ticket = {"kind": "ticket", "run": f"{run}-r1", "index": said["index"]}
    lost = {"kind": "lost", "run": f"{run}-r1", "uid": said["uid"], "index": said["index"], "why": "It is gone."}
    return [*entries[:-1], granted, ticket, lost, entries[-1]]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (other_outcome, "RECORD_DISAGREES"),
        (undecided, "DECISION_MISMATCH"),
        (replaced_though_it_passed, "DECISION_MISMATCH"),
        (never_ended, "RUN_UNACCOUNTED"),
        (stranger, "RECORD_NOT_SCHEDULED"),
        (admitted_stranger, "TICKET_NOT_SCHEDULED"),
        (told_twice, "RECORD_DUPLICATE"),
        (replaced_though_it_passed, "ACCOUNTING"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_ledger_that_says_what_cannot_be_is_an_error(change: Callable[[Entries, str], Entries], code: str):
    made = small()
    run = first_run(made)
    loaded = load(retold(made, lambda entries: change(entries, run)).source())

    assert code in codes(loaded)
    assert verdict(loaded) == "INCONCLUSIVE"
    assert len({row.run for row in loaded.rows if not row.replaces}) == 20


def test_a_run_that_the_ledger_calls_lost_was_not_run_and_is_no_error():
    made = small()
    run = first_run(made)

    def lost(entries: Entries) -> Entries:
        said = of("record", entries, run)
        made = {"kind": "lost", "run": run, "uid": said["uid"], "index": said["index"], "why": "It is gone."}
        entries[entries.index(said)] = made
        entries[-1]["counts"] |= {"passed": 19, "notRun": 1}
        return entries

    loaded = load(retold(made, lost).source())
    row = next(row for row in loaded.rows if row.run == run)

    assert loaded.wrong == ()
    assert (row.outcome, row.reason) == ("not_run", "lost_without_a_record")


def test_nothing_of_what_agents_left_is_read_and_nothing_twice():
    """Memory and time do not depend on how much a run wrote: only records are read."""
    made, read = small(), list[str]()
    left = [key.replace("record.json", "artifacts/snapshot.tar") for key in made.store.objects if "record" in key]

    class Counting(MemoryStore):
        def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:
            read.append(key)
            return super().get(key, limit=limit)

    store = Counting()
    for key, data in {**made.store.objects, **dict.fromkeys(left, b"x" * 1000)}.items():
        store.put(key, data)

    loaded = load(dataclasses.replace(made, store=store).source())

    assert (len(left), len(loaded.rows), loaded.wrong) == (20, 20, ())
    assert not set(left) & set(read)
    assert max(Counter(read).values()) == 1


def test_no_more_than_a_few_records_are_fetched_ahead():
    taken = list[int]()

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    with closing(in_order(lambda item: b"x" * item, items())) as found:
        assert next(found)[0] == 0
        assert len(taken) == AHEAD + 1


def test_without_a_preregistration_that_can_be_read_there_is_no_analysis():
    with pytest.raises(InvalidInput, match="preregistration"):
        load(damaged(small(), "preregistration.json", lambda _: b"{}").source())


@pytest.mark.parametrize("value", [None, "x", 10**30], ids=repr)
@pytest.mark.parametrize(
    "path",
    [
        "spec", "spec.analysis", "spec.constitution", "spec.constitution.secondaryMetrics", "spec.gates.1",
        "spec.gates.1.evidence", "spec.gates.1.evidence.0", "spec.decisionRule.conditions.1.statistic",
        "spec.decisionRule.order", "spec.stage", "spec.repetitions", "schedule.repetitions", "schedule.entries.0.task",
        "tasks.0.name", "tasks.0.variants", "candidates.0.role", "candidates.0.configuration", "cohort.uid",
    ],
)  # fmt: skip
def test_a_preregistration_of_another_shape_is_refused_or_an_error_and_never_a_crash(path: str, value: Any):
    held = json.loads(next(data for key, data in small().store.objects.items() if key.endswith("preregistration.json")))
    *parents, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    found = held
    for part in parents:
        found = found[part]
    found[last] = value

    try:
        loaded = load(damaged(small(), "preregistration.json", lambda _: documents.dump(held)).source())
    except InvalidInput as error:
        assert "preregistration" in str(error)
    else:
        assert codes(loaded)


def test_the_ledger_is_read_as_far_as_asked_for_and_no_further():
    made = small()
    again = made.source(made.size)
    more = correcting(made, Change("interaction.message", "", "x"))

    assert load(more.source(made.size)).rows == load(again).rows
    assert load(more.source(made.size)).corrections == ()
    assert "LEDGER_SIZE" in codes(load(made.source(), made.size + 1))


class Lying(MemoryStore):
    """A store whose listings are not to be trusted: of the keys that are there it lists what `told` makes of them."""

    def __init__(self, objects: dict[str, bytes], told: Callable[[list[str]], list[str]]) -> None:
        super().__init__()
        self.told = told
        for key, data in objects.items():
            self.put(key, data)

    def keys(self, prefix: str) -> list[str]:
        return sorted(self.told(super().keys(prefix)))


def refused(_: list[str]) -> list[str]:
    raise StoreError("list: the store answered 403 AccessDenied")


@pytest.mark.parametrize(
    "told",
    [
        lambda keys: [],
        lambda keys: keys[::2],
        lambda keys: [*keys, *(key.replace(".json", "a.json") for key in keys), "ns/none.json", "~"],
        refused,
    ],
    ids=["nothing", "every other page", "what is not there", "refused"],
)
def test_a_listing_that_lies_changes_nothing(told: Callable[[list[str]], list[str]]):
    made = small()

    found, true = (
        load(dataclasses.replace(made, store=store).source(made.size))
        for store in (Lying(made.store.objects, told), made.store)
    )

    assert (found.ledger.head, found.rows, found.wrong) == (true.ledger.head, true.rows, true.wrong)


def test_what_a_listing_names_is_read_once_and_nothing_beyond_the_size_that_is_asked_for():
    made, read = small(), list[str]()

    class Counting(Lying):
        def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:
            read.append(key)
            return super().get(key, limit=limit)

    pages = list(dataclasses.replace(made, store=Counting(made.store.objects, list)).source(3).ledger_pages())

    ledger = made.layout.cohort(*made.address)
    assert sum(len(json.loads(page)["entries"]) for page in pages) >= 3
    assert sorted(read) == sorted(set(read))
    assert max(read) <= ledger.ledger_page(3)


def test_a_folder_gives_what_the_store_gives(tmp_path: Path):
    made = small()
    base = made.layout.cohort(*made.address).base
    for key, data in made.store.objects.items():
        run = key.split("/runs/")[1].split("/")[0] if "/runs/" in key else ""
        name = key.removeprefix(f"{base}/") if key.startswith(base) else f"runs/{run}/record.json" if run else ""
        if name:
            (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "data" / name).write_bytes(data)

    assert load(FolderSource(tmp_path)).rows == load(made.source()).rows

    run = first_run(made)
    (tmp_path / "data" / "runs" / run / "record.json").unlink()
    (tmp_path / "data" / "runs" / run / "record.json").symlink_to("/etc/hostname")
    loaded = load(FolderSource(tmp_path))
    assert codes(loaded) == {"RECORD_UNREADABLE"}
    assert "is a link" in str(loaded.wrong[0])


def test_a_record_that_is_larger_than_one_may_be_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = small()
    base = made.layout.cohort(*made.address).base
    for key, data in made.store.objects.items():
        run = key.split("/runs/")[1].split("/")[0] if "/runs/" in key else ""
        path = tmp_path / "data" / (key.removeprefix(f"{base}/") if key.startswith(base) else f"runs/{run}/record.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    monkeypatch.setattr("fairtrial_analysis.load.source.RECORD_MAX", 100)

    for source in (made.source(), FolderSource(tmp_path)):
        loaded = load(source)
        assert codes(loaded) == {"RECORD_UNREADABLE"}
        assert verdict(loaded) == "INCONCLUSIVE"


# --- corrections ------------------------------------------------------------------------------------------------------
def correcting(made: Example, *changes: Change, **fields: Any) -> Example:
    """The evidence with one correction of the treatment's first run of the first task."""
    loaded = load(made.source())
    row = next(row for row in loaded.rows if (row.task, row.arm, row.repetition) == ("task-01", TREATMENT, 1))
    namespace, name, uid = made.address
    good = Correction(
        1, "correction", namespace, name, uid, loaded.plan.sha256, "", "wrong_measurement", "It was wrong.", "auditor",
        "2026-01-03T00:00:00Z", Superseded(row.run, row.uid, row.record_sha256, row.index), list(changes),
    )  # fmt: skip
    return small(corrections=[dataclasses.replace(good, **fields)])


def first(loaded: Loaded) -> Any:
    return next(row for row in loaded.rows if (row.task, row.arm, row.repetition) == ("task-01", TREATMENT, 1))


WALL = Change("interaction.wallMs", {"state": "measured", "value": 60000}, {"state": "measured", "value": 61000})


def test_a_correction_changes_its_row_and_keeps_the_old_one():
    loaded = load(correcting(small(), WALL).source())

    assert loaded.wrong == ()
    assert first(loaded).values["duration_ms"].value == 61000
    assert first(loaded).corrected == (1,)
    assert loaded.uncorrected[first(loaded).run].values["duration_ms"].value == 60000


def test_a_void_takes_the_run_out_of_the_valid_ones_with_its_reason():
    loaded = load(correcting(small(), kind="void", reason="solution_accessed").source())

    assert first(loaded).outcome == "void"
    assert first(loaded).reason == "solution_accessed"
    assert loaded.wrong == ()
    assert verdict(loaded) == "INCONCLUSIVE"  # its cell is one run short


def test_a_deviation_of_a_run_is_told_and_changes_nothing_about_it():
    loaded = load(correcting(small(), kind="deviation", reason="protocol_deviation").source())

    assert [one.kind for one in loaded.corrections] == ["deviation"]
    assert (first(loaded).corrected, loaded.uncorrected, loaded.wrong) == ((), {}, ())


def test_a_correction_that_does_not_fit_is_an_error_and_changes_nothing():
    wrong = dataclasses.replace(WALL, before={"state": "measured", "value": 1})
    loaded = load(correcting(small(), wrong).source())

    assert codes(loaded) == {"CORRECTION_UNFIT"}
    assert first(loaded).values["duration_ms"].value == 60000


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda _: None, "CORRECTION_NOT_STORED"),
        (lambda data: data.replace(b"61000", b"61001"), "CORRECTION_DIGEST"),
        (lambda data: data[:-9], "CORRECTION_UNREADABLE"),
    ],
    ids=["gone", "another", "truncated"],
)
def test_a_correction_that_is_not_the_one_that_the_ledger_names_is_an_error_and_changes_nothing(change: Any, code: str):
    loaded = load(damaged(correcting(small(), WALL), "corrections/00000001.json", change).source())

    assert code in codes(loaded)
    assert loaded.corrections == ()
    assert first(loaded).values["duration_ms"].value == 60000
    assert verdict(loaded) == "INCONCLUSIVE"


# --- values -----------------------------------------------------------------------------------------------------------
def test_tokens_that_nobody_reported_are_missing_with_the_reason():
    def came(task: int, arm: str, repetition: int, attempt: int) -> Came:
        return Came(tokens=None if (task, arm, repetition) == (1, TREATMENT, 1) else 500)

    value = first(load(small(story=came).source())).values["accounted_tokens"]

    assert (value.state, value.value) == ("missing", None)
    assert "not_reported" in value.reason


def test_reasoning_inside_the_output_is_not_counted_twice():
    fields = {"usage.reasoningTokens": {"state": "measured", "value": 77}}
    made = small(story=story(fields))
    record = load_record(made.store.objects[record_key(made, first_run(made))])

    assert accounted_of(record, "all_tokens").value == 10_000


def test_a_leaky_isolation_or_another_model_fails_its_gate_whatever_a_document_says():
    shown = [{"uri": "https://example.org/isolation.json", "sha256": "9" * 64}]
    gates = [{"name": "isolation", "says": "It is shown.", "evidence": shown}]
    assert load(small(gates=gates).source()).results.gates["isolation"].state == "pass"
    loaded = load(small(story=story({"isolation.state": "failed"}), gates=gates).source())
    assert loaded.results.gates["isolation"].state == "fail"
    assert first(loaded).run in loaded.results.gates["isolation"].reason

    other = {"usage.answeredModels": {"state": "measured", "value": ["another"]}}
    assert load(small(story=story(other)).source()).results.gates["model-immutable"].state == "fail"


def test_runs_of_a_block_that_differ_in_what_must_be_equal_are_found():
    loaded = load(
        small(story=story({"environment.initialStateSha256": {"state": "measured", "value": "3" * 64}})).source()
    )

    assert [one.what for one in loaded.findings] == ["initialState"]
