"""Keys that a trust list limits in time: what they signed outside it, and what shows when they signed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from fairtrial.attest import trust
from fairtrial.attest.timestamp import Stamp
from fairtrial.attest.trust import TimestampAuthority, TrustList
from fairtrial.audit import signatures
from fairtrial.audit.verify import verify
from tests.unit.audit.tampering import OWNERS, endorsed
from tests.unit.audit.world import KEYS, TRUST, base, good, packaged, relisted, written

Files = dict[str, bytes]
STUDY = f"data/{OWNERS}"


def at(day: int, hour: int = 0) -> datetime:
    """All of the cohort happened on the first of January, from noon on."""
    return datetime(2026, 1, day, hour, tzinfo=UTC)


def limited(role: str, **limits: datetime) -> TrustList:
    return replace(TRUST, keys=tuple(replace(one, **limits) if one.role == role else one for one in TRUST.keys))


@pytest.fixture
def found(tmp_path: Path) -> Callable[[Files, TrustList], set[tuple[str, str]]]:
    """Codes and where they were found; of runs, by one for all."""

    def run(files: Files, trusted: TrustList) -> set[tuple[str, str]]:
        result = verify(written(files, tmp_path / "package"), trusted)
        return {(one.code, one.path) for one in result.findings}

    return run


Found = Callable[[Files, TrustList], set[tuple[str, str]]]


@cache
def package_of_endorsed() -> Files:
    return packaged(endorsed())


@pytest.mark.parametrize(
    ("limits", "good"),
    [
        ({"valid_from": at(1)}, True),
        ({"valid_from": at(1, 13)}, False),
        ({"revoked_from": at(1, 13)}, True),
        ({"revoked_from": at(1, 12)}, False),
        ({"valid_from": at(1), "revoked_from": at(2)}, True),
    ],
)
def test_a_study_owners_key_is_judged_by_when_the_ledger_tells_of_its_signature(
    limits: dict[str, datetime], good: bool, found: Found
):
    expected = set() if good else {("SIG_KEY_NOT_VALID", STUDY)}

    assert found(package_of_endorsed(), limited("studyOwner", **limits)) == expected


def test_a_signature_that_the_ledger_does_not_tell_of_has_no_time(found: Found):
    files = relisted(good() | {STUDY: endorsed().blobs[OWNERS]})

    told = found(files, limited("studyOwner", revoked_from=at(3)))

    assert told == {("ENDORSEMENT_NOT_IN_LEDGER", STUDY), ("SIG_KEY_NOT_VALID", STUDY)}


def test_an_evaluators_key_counts_for_runs_until_it_was_revoked(found: Found):
    """Records 1 to 15 were in the ledger by then."""
    told = found(good(), limited("evaluator", revoked_from=datetime(2026, 1, 1, 16, 16, tzinfo=UTC)))

    late = {f"cohort-1-{number:05d}" for number in range(16, 21)} | {"cohort-1-00007-r1"}
    assert told == {("SIG_KEY_NOT_VALID", f"data/runs/{run}/evaluation.sigstore.json") for run in late}


def test_a_key_that_was_not_yet_valid_spoils_what_it_signed(found: Found):
    told = found(good(), limited("operator", valid_from=at(2)))

    where = {path for code, path in told if code == "SIG_KEY_NOT_VALID"}
    assert {code for code, _ in told} == {"SIG_KEY_NOT_VALID"}
    assert where >= {"data/preregistration.sigstore.json", "data/checkpoints/00000001.note"}
    assert len(where) == 1 + 2 + len(base().records)


# --- by an authority's clock ------------------------------------------------------------------------------------------
def stamped(monkeypatch: pytest.MonkeyPatch, trusted: TrustList, *names: str, day: int = 2) -> tuple[Files, TrustList]:
    """A package with stamps of these files, from that day; of the plan from noon of the first."""
    given = replace(trusted, timestamp_authorities=(TimestampAuthority("clock", (), ""),))
    tokens = {f"data/{name}.tsr": b"token" for name in names}

    def when(data: bytes, about: bytes, _: object, *, name: str) -> Stamp:
        return Stamp(at(1, 12) if "preregistration" in name else at(day), name)

    monkeypatch.setattr(signatures.timestamp, "verify", when)
    return relisted(good() | {"data/trust.json": given.to_bytes()} | tokens), given


def test_an_operators_own_clock_does_not_speak_for_its_revoked_key(found: Found):
    told = found(good(), limited("operator", revoked_from=at(9)))

    assert len(told) == 1 + 2 + len(base().records)
    assert {code for code, _ in told} == {"SIG_KEY_NOT_VALID"}


@pytest.mark.parametrize(("revoked", "codes"), [(3, set()), (2, {"SIG_KEY_NOT_VALID"})])
def test_a_stamped_root_shows_that_all_before_it_is_older_than_the_theft(
    revoked: int, codes: set[str], found: Found, monkeypatch: pytest.MonkeyPatch
):
    trusted = limited("operator", revoked_from=at(revoked))
    files, given = stamped(monkeypatch, trusted, "preregistration", "checkpoints/00000045.note")

    told = found(files, given)

    assert {code for code, _ in told} == codes
    assert ("SIG_KEY_NOT_VALID", "data/preregistration.sigstore.json") not in told, "it has a stamp of its own"


def test_a_package_by_a_revoked_key_needs_a_stamp_from_before(found: Found, monkeypatch: pytest.MonkeyPatch):
    trusted = limited("analysis", revoked_from=at(3))
    signature = ("SIG_KEY_NOT_VALID", "manifest-sha256.txt.sigstore.json")
    assert found(good(), trusted) == {signature}
    token = {"manifest-sha256.txt.tsr": b"token"}

    for day, expected in ((3, set()), (2, {signature})):
        files, given = stamped(monkeypatch, limited("analysis", revoked_from=at(day)), "preregistration")
        assert found(files | token, given) == expected


# --- the list ---------------------------------------------------------------------------------------------------------
def test_limits_are_written_and_read_again():
    listed = limited("operator", valid_from=at(1), revoked_from=at(2))

    assert trust.load(listed.to_bytes()) == listed
    assert listed.unlimited == TRUST
    assert b"2026-01-02T00:00:00Z" in listed.to_bytes()
    assert KEYS["operator"].key_id.encode() in listed.to_bytes()
