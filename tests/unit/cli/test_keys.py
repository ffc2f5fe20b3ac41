"""`fairtrial keys` and `fairtrial sign`: no key is overwritten, lists are good for an auditor, and what is signed."""

import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fairtrial.attest import dsse, trust
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.cli.app import app
from fairtrial.cli.records import NotAsRecorded
from fairtrial.cli.sign import in_time, sign
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.evidence import statements
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.signing import keys
from fairtrial.testing import make_cohort, make_resource_class, make_task


def fairtrial(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def refused(*arguments: object) -> str:
    with pytest.raises(FairtrialError) as error:
        fairtrial(*arguments)
    return str(error.value)


def test_keys_are_made_listed_and_shown(tmp_path: Path) -> None:
    made = fairtrial("keys", "new", "--role", "operator", "--role", "studyOwner", "--to", tmp_path / "k")
    operator, study, secret = made.output.splitlines()
    assert secret.endswith(f"--from-file=key.pem={tmp_path / 'k' / 'operator.key.pem'}")
    assert stat.S_IMODE((tmp_path / "k" / "operator.key.pem").stat().st_mode) == 0o600

    pairs = [f"{role}={tmp_path / 'k' / f'{role}.pub.pem'}" for role in ("operator", "studyOwner")]
    said = fairtrial("keys", "trust", *pairs, "--to", tmp_path / "trust.json", "--development")
    assert said.output == f"{tmp_path / 'trust.json'}: 2 keys, 0 time-stamp authorities\n"

    listed = trust.load((tmp_path / "trust.json").read_bytes())
    ids = {role: line.split()[1] for role, line in (("operator", operator), ("studyOwner", study))}
    assert {(one.role, one.key.key_id, one.development) for one in listed.keys} == {
        (role, key_id, True) for role, key_id in ids.items()
    }
    shown = fairtrial("keys", "show", tmp_path / "trust.json").output
    assert shown.splitlines() == [f"{role} (development)  {ids[role]}  Ed25519" for role in ("studyOwner", "operator")]
    for what in ("operator.key.pem", "operator.pub.pem"):
        assert ids["operator"] in fairtrial("keys", "show", tmp_path / "k" / what).output
    pem = fairtrial("keys", "show", f"file:{tmp_path / 'k' / 'operator.key.pem'}", "--pem").output
    assert (tmp_path / "k" / "operator.pub.pem").read_text() in pem


def test_no_key_and_no_list_is_overwritten(tmp_path: Path) -> None:
    fairtrial("keys", "new", "--role", "operator", "--to", tmp_path)
    before = (tmp_path / "operator.key.pem").read_bytes()
    (tmp_path / "trust.json").write_text("mine")

    assert "exists already" in refused("keys", "new", "--role", "operator", "--to", tmp_path)
    pair = f"operator={tmp_path / 'operator.pub.pem'}"
    assert "exists already" in refused("keys", "trust", pair, "--to", tmp_path / "trust.json")

    assert (tmp_path / "operator.key.pem").read_bytes() == before
    assert (tmp_path / "trust.json").read_text() == "mine"


def test_a_key_is_limited_in_time_in_a_list_of_its_own(tmp_path: Path) -> None:
    made = fairtrial("keys", "new", "--role", "operator", "--role", "studyOwner", "--to", tmp_path)
    key = made.output.split()[1]
    pairs = [f"{role}={tmp_path / f'{role}.pub.pem'}" for role in ("operator", "studyOwner")]
    fairtrial("keys", "trust", *pairs, "--to", tmp_path / "old.json")
    old, new = tmp_path / "old.json", tmp_path / "new.json"

    fairtrial("keys", "limit", old, key[:12], "--revoked-from", "2026-01-31T12:00:00Z", "--to", new)

    owner, operator = fairtrial("keys", "show", new).output.splitlines()
    assert operator == f"operator  {key}  Ed25519  revoked from 2026-01-31T12:00:00Z"
    assert "revoked" not in owner
    assert "revoked" not in fairtrial("keys", "show", old).output
    for arguments, why in (
        ([old, key, "--to", tmp_path / "x"], "No time was given"),
        ([old, "", "--valid-from", "2026-01-31T12:00:00Z", "--to", tmp_path / "x"], "2 keys begin with"),
        ([old, "zz", "--valid-from", "2026-01-31T12:00:00Z", "--to", tmp_path / "x"], "0 keys begin with"),
        ([old, key, "--valid-from", "yesterday", "--to", tmp_path / "x"], "not of the form 2026-01-31T12:00:00Z"),
        ([old, key, "--valid-from", "2026-01-31T12:00:00Z", "--to", new], "exists already"),
    ):
        assert why in refused("keys", "limit", *arguments)


def test_one_role_that_exists_keeps_all_from_being_made(tmp_path: Path) -> None:
    fairtrial("keys", "new", "--role", "evaluator", "--to", tmp_path)

    refused("keys", "new", "--role", "operator", "--role", "evaluator", "--to", tmp_path)

    assert not (tmp_path / "operator.key.pem").exists()


def test_what_is_wrong_with_a_list_is_said_when_it_is_made(tmp_path: Path) -> None:
    fairtrial("keys", "new", "--role", "operator", "--to", tmp_path)
    pair, to = f"operator={tmp_path / 'operator.pub.pem'}", tmp_path / "trust.json"

    for arguments, why in (
        ([f"operator={tmp_path / 'operator.key.pem'}"], "is a private key"),
        ([f"root={tmp_path / 'operator.pub.pem'}"], "there is none of this name"),
        (["operator"], "not of the form NAME=FILE"),
        ([f"operator={tmp_path / 'none'}"], "can't be read"),
        ([pair, pair], "lists a key twice"),
        ([pair, "--authority", f"tsa={tmp_path / 'operator.pub.pem'}"], "no PEM certificates"),
    ):
        assert re.search(why, refused("keys", "trust", *arguments, "--to", to)), why
    assert not to.exists()


# --- the study owner --------------------------------------------------------------------------------------------------
COHORT = make_cohort(seal=True)
FOUND = preregistration.Found(
    {"task-1": make_task(), "task-2": make_task("task-2", publicArchive={"sha256": "f" * 64, "size": 1})},
    make_resource_class(),
    {},
)
DOCUMENT = preregistration.document(COHORT, FOUND)
DATA = preregistration.to_bytes(DOCUMENT)
WHERE = Layout().cohort("trials", "cohort-1", COHORT.metadata.uid)


def stored(data: bytes = DATA) -> MemoryStore:
    store = MemoryStore()
    store.put(WHERE.preregistration(), data)
    return store


def test_a_study_owner_sees_what_they_sign_and_signs_it(tmp_path: Path) -> None:
    store, key = stored(), keys.new(tmp_path / "study.pem")

    told = "\n".join(sign(store, WHERE, sha256(DATA), f"file:{tmp_path / 'study.pem'}"))

    listed = TrustList((TrustedKey("studyOwner", key.public),))
    found = dsse.verify(store.get(WHERE.study_signature()), listed, trust.STUDY_SIGNATURE)
    assert found.statement == statements.preregistration(DATA, DOCUMENT)
    assert sha256(DATA) in told and "tasks: task-1, task-2" in told and "runs: 20" in told and key.key_id in told


def test_signing_again_changes_nothing_and_another_owner_is_told(tmp_path: Path) -> None:
    store = stored()
    for name in ("one", "two"):
        keys.new(tmp_path / name)
    first = list(sign(store, WHERE, sha256(DATA), f"file:{tmp_path / 'one'}"))
    before = dict(store.objects)

    assert list(sign(store, WHERE, sha256(DATA), f"file:{tmp_path / 'one'}")) == first
    assert "was signed before, with another key" in "\n".join(
        sign(store, WHERE, sha256(DATA), f"file:{tmp_path / 'two'}")
    )
    assert store.objects == before


def test_a_dry_run_signs_nothing() -> None:
    store = stored()

    assert len(list(sign(store, WHERE, sha256(DATA), ""))) == 5
    assert list(store.objects) == [WHERE.preregistration()]


def test_after_a_run_was_admitted_nobody_signs() -> None:
    ledger = Ledger("cohort-1", "uid")
    in_time("cohort-1", ledger)
    ledger.tickets["cohort-1-00001"] = LedgerEntry("ticket", run="cohort-1-00001", index=1)

    with pytest.raises(InvalidInput, match=r"would be found to be late.*spec\.suspend true"):
        in_time("cohort-1", ledger)


def test_what_is_not_what_the_status_names_or_contradicts_itself_is_not_signed(tmp_path: Path) -> None:
    keys.new(tmp_path / "k")
    key = f"file:{tmp_path / 'k'}"
    bent = DATA.replace(b'"repetitions":', b'"repetitions":1', 1)
    assert bent != DATA

    with pytest.raises(NotAsRecorded):
        list(sign(stored(bent), WHERE, sha256(DATA), key))
    with pytest.raises(InvalidInput, match="contradicts itself"):
        list(sign(stored(bent), WHERE, sha256(bent), key))
