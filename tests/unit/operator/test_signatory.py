"""The operator's key and time-stamp authority: what its environment may say, and what comes before a record."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fairtrial_operator.apply import Applier
from fairtrial_operator.observe import Notes
from fairtrial_operator.seen import StoreRecord
from fairtrial_operator.signatory import Signatory

from fairtrial.attest.statement import Statement
from fairtrial.errors import InvalidInput, SigningFailed
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.signing import keys, storing
from fairtrial.testing import make_finished_run

KEY = keys.of_private(Ed25519PrivateKey.from_private_bytes(b"o" * 32))
RECORD = StoreRecord(b"{}", Statement.of([("record.json", "ab" * 32)], "x", {}))
RUN = make_finished_run()
KEYS = Layout().run(RUN.metadata.namespace, RUN.metadata.name, RUN.metadata.uid)


class Observed:
    def keys_of(self, _: Any) -> Any:
        return KEYS


def stored(store: MemoryStore, signatory: Signatory | None) -> Any:
    nobody: Any = None
    observer: Any = Observed()
    notes = Notes()
    applier = Applier(nobody, store, "bucket", nobody, observer, signatory)
    asyncio.run(applier.apply(RUN, {}, RECORD, notes))
    return notes.stored


def test_what_the_environment_names_is_what_signs(tmp_path: Path) -> None:
    made = keys.new(tmp_path / "key.pem")
    env = {"FAIRTRIAL_SIGNING_KEY": f"file:{tmp_path / 'key.pem'}", "FAIRTRIAL_TIMESTAMP_URL": "http://tsa"}

    found = Signatory.from_environment(env)

    assert found.key is not None
    assert (found.key.key_id, found.timestamp_url, found.signs) == (made.key_id, "http://tsa", True)
    assert not Signatory.from_environment({}).signs


def test_what_can_not_be_meant_is_refused_at_the_start(tmp_path: Path) -> None:
    keys.new(tmp_path / "key.pem")
    key = {"FAIRTRIAL_SIGNING_KEY": f"file:{tmp_path / 'key.pem'}"}

    with pytest.raises(InvalidInput, match="no signing key"):
        Signatory.from_environment({"FAIRTRIAL_TIMESTAMP_URL": "http://tsa"})
    with pytest.raises(InvalidInput, match="http or https"):
        Signatory.from_environment(key | {"FAIRTRIAL_TIMESTAMP_URL": "tsa.example.org"})
    with pytest.raises(SigningFailed, match="No such file"):
        Signatory.from_environment({"FAIRTRIAL_SIGNING_KEY": f"file:{tmp_path / 'none'}"})


def test_the_statement_lies_there_before_the_record() -> None:
    store = MemoryStore()

    assert stored(store, Signatory(KEY)).problem == ""

    assert list(store.objects) == [KEYS.record_statement(), KEYS.record()]


def test_without_a_key_there_is_the_record_alone() -> None:
    store = MemoryStore()

    stored(store, None)

    assert list(store.objects) == [KEYS.record()]


def test_a_signature_that_fails_keeps_the_record_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: Any) -> None:
        raise SigningFailed("the key service is down")

    store = MemoryStore()
    monkeypatch.setattr(storing, "keep_statement", down)

    assert (stored(store, Signatory(KEY)).problem, store.objects) == ("signing", {})


def test_another_statement_in_its_place_keeps_the_record_back() -> None:
    store = MemoryStore()
    store.put(KEYS.record_statement(), b"{}")

    assert stored(store, Signatory(KEY)).problem == "conflict"
    assert KEYS.record() not in store.objects
