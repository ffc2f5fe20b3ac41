"""What was kept elsewhere: a checkpoint that shows a ledger cut off or written anew, and a trust list."""

import string
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from fairtrial.attest.timestamp import Stamp
from fairtrial.attest.trust import TimestampAuthority, TrustedKey, TrustList
from fairtrial.audit import signatures
from fairtrial.audit.verify import Result, load_trust, verify
from fairtrial.documents import RunIdentity, dump
from fairtrial.errors import InvalidInput, Unproven
from fairtrial.secrets.stored import ArtifactScan, StoredLeak
from tests.unit.audit.tampering import CASES, RUN
from tests.unit.audit.world import AT, KEYS, base, good, key_of, packaged, relisted, sha, written

WITHHELD = "data/withheld.json"


def note_of(entries: int) -> bytes:
    """The checkpoint of the good package after so many entries."""
    return good()[f"data/checkpoints/{entries:08d}.note"]


def end() -> bytes:
    return note_of(45)


def checked(files: dict[str, bytes], folder: Path, checkpoint: bytes, trust: TrustList | None = None) -> Result:
    roles = TrustList(tuple(TrustedKey(role, key.public) for role, key in KEYS.items()))
    return verify(written(files, folder / "package"), trust or roles, checkpoint)


def test_a_kept_checkpoint_of_the_same_history_is_no_finding(tmp_path: Path):
    for at, kept in enumerate((note_of(1), end())):
        assert checked(good(), tmp_path / str(at), kept).findings.codes == set()


def test_a_ledger_that_was_cut_off_is_found_by_what_was_kept(tmp_path: Path):
    """28: the whole package made again from fewer entries, by whoever has every key."""
    world = base()
    world.pages = world.pages[:-1]  # the end of the cohort was never written
    cut = packaged(world)

    alone = verify(written(cut, tmp_path / "alone"), load_list())
    held = checked(cut, tmp_path, end())

    assert held.findings.codes - alone.findings.codes == {"LEDGER_TRUNCATED"}


def test_a_history_that_was_written_anew_is_found_only_by_what_was_kept(tmp_path: Path):
    """29: a tree of the same size, all of it signed again."""
    world = base()
    world.pages[-1] = (AT.format(23, 58), world.pages[-1][1])
    world.entry("replacement", "cohort-1-00007")["why"] = "Another reason altogether."
    forked = packaged(world)

    assert verify(written(forked, tmp_path / "alone"), load_list()).findings.codes == set()
    assert checked(forked, tmp_path, end()).findings.codes == {"LEDGER_FORK"}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"\n", b"", "NOTE_INVALID"),
        (b"\n45\n", b"\n46\n", "SIG_INVALID"),
        (b"trials", b"trialz", "CHECKPOINT_FOREIGN"),
    ],
)
def test_a_bad_checkpoint_is_told(tmp_path: Path, old: bytes, new: bytes, code: str):
    assert checked(good(), tmp_path, end().replace(old, new)).findings.codes == {code}


def load_list() -> TrustList:
    return TrustList(tuple(TrustedKey(role, key.public) for role, key in KEYS.items()))


def test_a_development_key_is_said_and_is_no_finding(tmp_path: Path):
    trust = TrustList(tuple(TrustedKey(role, key.public, development=True) for role, key in KEYS.items()))
    files = relisted(good() | {"data/trust.json": trust.to_bytes()})

    result = checked(files, tmp_path, end(), trust)

    assert result.findings.codes == set()
    assert any("development key" in says for says in result.findings.remarks)


def test_nobody_is_trusted_who_is_not_in_the_list(tmp_path: Path):
    strangers = TrustList(tuple(TrustedKey(role, key_of(f"other {role}").public) for role in KEYS))

    codes = checked(good(), tmp_path, end(), strangers).findings.codes

    assert codes == {"SIG_UNTRUSTED_KEY", "TRUST_MISMATCH", "CHECKPOINT_MISSING"}


def test_without_a_trust_list_or_a_folder_nothing_is_verified(tmp_path: Path):
    with pytest.raises(InvalidInput, match="can't be read"):
        load_trust(tmp_path / "nowhere.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(Unproven, match="has not exactly the fields"):
        load_trust(tmp_path / "bad.json")
    with pytest.raises(InvalidInput, match="can't be read"):
        verify(tmp_path / "nowhere", load_list())


def test_every_case_has_a_number():
    assert all(name.split(" ")[0].rstrip(string.ascii_lowercase).isdecimal() for name in CASES)


# --- time-stamps ------------------------------------------------------------------------------------------------------
def stamped(trust: TrustList, **more: bytes) -> dict[str, bytes]:
    return relisted(
        good() | {"data/trust.json": trust.to_bytes()} | {f"data/{key}.tsr": one for key, one in more.items()}
    )


@pytest.fixture
def with_authority() -> TrustList:
    """A list that names an authority, so that the plan must be stamped."""
    return TrustList(load_list().keys, (TimestampAuthority("clock", (), ""),))


def test_a_plan_that_nobody_stamped_is_told(tmp_path: Path, with_authority: TrustList):
    """20: the token removed."""
    codes = verify(written(stamped(with_authority), tmp_path / "p"), with_authority).findings.codes

    assert codes == {"TS_MISSING"}


@pytest.mark.parametrize("code", ["TS_INVALID", "TS_UNTRUSTED"])
def test_a_token_of_another_file_or_authority_is_told(
    code: str, tmp_path: Path, with_authority: TrustList, monkeypatch: pytest.MonkeyPatch
):
    """18 and 19: what `attest.timestamp` refuses becomes a finding; its own tests show that it does."""

    def refuse(*_: object, name: str) -> None:
        raise Unproven(code, f"{name}: no.")

    monkeypatch.setattr(signatures.timestamp, "verify", refuse)
    codes = verify(
        written(stamped(with_authority, preregistration=b"x"), tmp_path / "p"), with_authority
    ).findings.codes

    assert codes == {code}


def test_bytes_that_are_no_token_are_told(tmp_path: Path, with_authority: TrustList):
    result = verify(written(stamped(with_authority, preregistration=b"x"), tmp_path / "p"), with_authority)

    assert result.findings.codes == {"TS_INVALID"}


@pytest.mark.parametrize(("day", "codes"), [(1, set()), (3, {"TS_AFTER_FIRST_RUN"})])
def test_a_plan_that_was_stamped_after_its_first_run_is_told(
    day: int, codes: set[str], tmp_path: Path, with_authority: TrustList, monkeypatch: pytest.MonkeyPatch
):
    """17."""
    at = datetime(2026, 1, day, 12, 0, tzinfo=UTC)
    monkeypatch.setattr(signatures.timestamp, "verify", lambda *_, name: Stamp(at, name))
    result = verify(written(stamped(with_authority, preregistration=b"x"), tmp_path / "p"), with_authority)

    assert result.findings.codes == codes


NOT_SEARCHED = ("not_scanned", "not_collected")


# --- what is held back ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "leaks", [{"state": "measured", "value": 1}, *({"state": "missing", "reason": why} for why in NOT_SEARCHED)]
)
def test_a_credential_may_not_be_published_nor_a_call_that_nobody_searched(tmp_path: Path, leaks: dict[str, Any]):
    world = base()
    world.records[RUN]["usage"]["leaks"] = leaks

    assert verify(written(packaged(world), tmp_path / "p"), load_list()).findings.codes == {"LEAK_PUBLISHED"}


@pytest.mark.parametrize("state", ["done", "failed"])
def test_nor_may_anything_that_an_agent_left_who_wrote_one_or_was_not_searched(tmp_path: Path, state: Literal["done"]):
    world = base()
    leaks = [StoredLeak("canary:a/b", "plain", "agent/streams/stdout", 9)] if state == "done" else []
    scan = dump(ArtifactScan(RunIdentity("trials", RUN, "uid"), state, leaks=leaks))
    world.blobs[f"runs/{RUN}/artifacts/scan/agent.json"] = scan
    world.records[RUN]["artifacts"].append({"name": "scan/agent.json", "size": len(scan), "sha256": sha(scan)})
    told = {"state": "measured", "value": 1} if leaks else {"state": "missing", "reason": "not_scanned"}
    world.records[RUN]["usage"]["leaks"] = told

    findings = verify(written(packaged(world), tmp_path / "p"), load_list()).findings

    assert findings.codes == {"LEAK_PUBLISHED"}
    places = {one.path.removeprefix(f"data/runs/{RUN}/") for one in findings}
    assert {"artifacts/agent/snapshot.tar", "artifacts/evaluation/behaviour.xml"} < places
    assert not [place for place in places if place.startswith(("model/", "artifacts/scan/", "artifacts/model/"))]


def test_what_is_held_back_is_named_by_its_hash(tmp_path: Path):
    held = [path for path in good() if path.startswith(f"data/runs/{RUN}/model/")]
    listed = [{"path": path, "size": len(good()[path]), "sha256": sha(good()[path])} for path in held]
    document = {"schemaVersion": 1, "kind": "Withheld", "because": "a credential was found", "files": listed}
    files = {path: data for path, data in good().items() if path not in held}

    result = verify(written(relisted(files | {WITHHELD: dump(document)}), tmp_path / "one"), load_list())
    assert result.findings.codes == set()
    assert any("held back" in says for says in result.findings.remarks)

    both = relisted(good() | {WITHHELD: dump(document)})
    assert verify(written(both, tmp_path / "two"), load_list()).findings.codes == {"WITHHELD_INVALID"}
