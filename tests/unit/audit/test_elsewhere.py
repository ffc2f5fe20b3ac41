"""What was kept elsewhere: a checkpoint that shows a ledger cut off or written anew, and a trust list."""

from pathlib import Path

import pytest

from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.audit.verify import Result, load_trust, verify
from fairtrial.errors import InvalidInput, Unproven
from tests.unit.audit.tampering import CASES
from tests.unit.audit.world import AT, KEYS, base, good, key_of, packaged, relisted, written

END = good()["data/checkpoints/00000045.note"]
BEGINNING = good()["data/checkpoints/00000001.note"]


def checked(files: dict[str, bytes], folder: Path, checkpoint: bytes, trust: TrustList | None = None) -> Result:
    roles = TrustList(tuple(TrustedKey(role, key.public) for role, key in KEYS.items()))
    return verify(written(files, folder / "package"), trust or roles, checkpoint)


def test_a_kept_checkpoint_of_the_same_history_is_no_finding(tmp_path: Path):
    for at, kept in enumerate((BEGINNING, END)):
        assert checked(good(), tmp_path / str(at), kept).findings.codes == set()


def test_a_ledger_that_was_cut_off_is_found_by_what_was_kept(tmp_path: Path):
    """28: the whole package made again from fewer entries, by whoever has every key."""
    world = base()
    world.pages = world.pages[:-1]  # the end of the cohort was never written

    alone = verify(written(packaged(world), tmp_path / "alone"), load_list())
    held = checked(packaged(world), tmp_path, END)

    assert held.findings.codes - alone.findings.codes == {"LEDGER_TRUNCATED"}


def test_a_history_that_was_written_anew_is_found_only_by_what_was_kept(tmp_path: Path):
    """29: a tree of the same size, all of it signed again."""
    world = base()
    world.pages[-1] = (AT.format(23, 58), world.pages[-1][1])
    world.entry("replacement", "cohort-1-00007")["why"] = "Another reason altogether."
    forked = packaged(world)

    assert verify(written(forked, tmp_path / "alone"), load_list()).findings.codes == set()
    assert checked(forked, tmp_path, END).findings.codes == {"LEDGER_FORK"}


@pytest.mark.parametrize(
    ("kept", "code"),
    [
        (b"no note", "NOTE_INVALID"),
        (END.replace(b"\n45\n", b"\n46\n"), "SIG_INVALID"),
        (END.replace(b"trials", b"trialz"), "CHECKPOINT_FOREIGN"),
    ],
)
def test_a_bad_checkpoint_is_told(tmp_path: Path, kept: bytes, code: str):
    assert checked(good(), tmp_path, kept).findings.codes == {code}


def load_list() -> TrustList:
    return TrustList(tuple(TrustedKey(role, key.public) for role, key in KEYS.items()))


def test_a_development_key_is_said_and_is_no_finding(tmp_path: Path):
    trust = TrustList(tuple(TrustedKey(role, key.public, development=True) for role, key in KEYS.items()))
    files = relisted(good() | {"data/trust.json": trust.to_bytes()})

    result = checked(files, tmp_path, END, trust)

    assert result.findings.codes == set()
    assert any("development key" in says for says in result.findings.remarks)


def test_nobody_is_trusted_who_is_not_in_the_list(tmp_path: Path):
    strangers = TrustList(tuple(TrustedKey(role, key_of(f"other {role}").public) for role in KEYS))

    codes = checked(good(), tmp_path, END, strangers).findings.codes

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
    assert all(name.split(" ")[0].rstrip("abcdef").isdecimal() for name in CASES)
