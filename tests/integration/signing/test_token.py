"""Keys in a PKCS#11 token: SoftHSM, through the same URI that a hardware module has."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pkcs11
import pytest
from fairtrial_operator.signatory import Signatory
from pkcs11.util.ec import encode_named_curve_parameters
from securesystemslib.signer import HSMSigner
from typer.testing import CliRunner

from fairtrial.attest import dsse, note, trust
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.audit.verify import load_trust, verify
from fairtrial.cli.app import app
from fairtrial.cli.sign import sign as sign_as_owner
from fairtrial.errors import SigningFailed
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.signing import keys, sign
from fairtrial.signing.keys import SigningKey
from local_cluster import packages
from tests.unit.audit.world import base, evidence, packaged, sha, written

LIBRARY = "/usr/lib/softhsm/libsofthsm2.so"
PIN = "4711"
URI = "hsm:2?label=fairtrial"
HIDDEN = "hsm:3?label=fairtrial"  # its public half is shown to nobody without a PIN
STATEMENT = Statement.of([("record.json", "ab" * 32)], "https://slsa.dev/provenance/v1", {"n": 1})
WHERE = Layout().cohort("trials", "cohort-1", "uid")


@dataclass(frozen=True)
class Token:
    """A token in a folder, with two keys."""

    folder: Path

    def load(self, uri: str = URI, pin: str = PIN) -> SigningKey:
        return keys.load(uri, pin=pin)

    def take_out(self) -> None:
        shutil.move(self.folder / "tokens", self.folder / "elsewhere")
        (self.folder / "tokens").mkdir()

    def put_back(self) -> None:
        (self.folder / "tokens").rmdir()
        shutil.move(self.folder / "elsewhere", self.folder / "tokens")


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Token]:
    program = packages.provide("softhsm2-util", "softhsm2")
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path}/tokens\nlog.level = ERROR\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm2.conf"))
    monkeypatch.setenv("PYKCS11LIB", LIBRARY)
    initialised = ["--init-token", "--free", "--label", "fairtrial", "--pin", PIN, "--so-pin", "0815"]
    subprocess.run([program, *initialised], check=True, capture_output=True)
    with pkcs11.lib(LIBRARY).get_token(token_label="fairtrial").open(rw=True, user_pin=PIN) as session:
        curve = {pkcs11.Attribute.EC_PARAMS: encode_named_curve_parameters("secp256r1")}
        on_p256 = session.create_domain_parameters(pkcs11.KeyType.EC, curve, local=True)
        on_p256.generate_keypair(store=True, id=b"\x02")
        hidden = {pkcs11.Attribute.PRIVATE: True}
        on_p256.generate_keypair(store=True, id=b"\x03", public_template=hidden)
    yield Token(tmp_path)
    pkcs11.lib(LIBRARY).finalize()


def test_a_cohort_signed_in_a_token_is_accepted_by_a_list_made_of_its_key(token: Token) -> None:
    """Preregistration, records, checkpoints, evaluations and the package: one token, as four parts."""
    shown = CliRunner().invoke(app, ["keys", "show", URI, "--pem"], catch_exceptions=False).output
    (token.folder / "pub.pem").write_text(shown.partition("\n")[2])
    listed = token.folder / "trust.json"
    pairs = [f"{role}={token.folder / 'pub.pem'}" for role in ("operator", "evaluator", "analysis")]
    made = CliRunner().invoke(app, ["keys", "trust", *pairs, "--to", str(listed)], catch_exceptions=False)
    assert "3 keys" in made.output
    world = base()
    world.keys = dict.fromkeys(("operator", "evaluator", "analysis"), token.load())
    world.trust = listed.read_bytes()
    folder = written(packaged(world), token.folder / "package")

    done = CliRunner().invoke(app, ["verify", str(folder), "--trust", str(listed)])

    assert done.exit_code == 0, done.output
    assert "ECDSA P-256" in shown
    record = next(folder.glob("data/runs/*/record.sigstore.json"))
    bundle = dsse.parse(record.read_bytes())
    record.write_bytes(
        dsse.Bundle(bundle.key_id, bundle.payload + b" ", bundle.payload_type, bundle.signature).to_bytes()
    )
    assert "SIG_INVALID" in verify(folder, load_trust(listed)).findings.codes


def test_the_operator_seals_records_and_signs_roots_with_a_key_in_a_token(token: Token) -> None:
    signatory = Signatory.from_environment({"FAIRTRIAL_SIGNING_KEY": URI, "FAIRTRIAL_SIGNING_PIN": PIN})
    assert signatory.key is not None
    listed = TrustList((TrustedKey("operator", signatory.key.public),))
    store, data = MemoryStore(), evidence(base())["preregistration.json"]
    run, said = Layout().run("trials", "run-1", "uid", "cohort-1"), Checkpoint("fairtrial.dev/a/b/c", 1, bytes(32))

    for _ in range(2):  # the second time after a crash: ECDSA makes other bytes, and the first stay
        signatory.seal(store, WHERE, data)
        signatory.record(store, run, STATEMENT)
        signatory.checkpoint(store, WHERE, said)

    sealed = dsse.verify(store.get(WHERE.preregistration_signature()), listed, trust.PREREGISTRATION)
    assert sealed.statement.digests == {"preregistration.json": sha(data)}
    assert dsse.verify(store.get(run.record_statement()), listed, trust.RECORD).statement == STATEMENT
    root = note.parse(store.get(WHERE.checkpoint(1)))
    assert note.verify(root, [signatory.key.public], key_name=said.origin) == [signatory.key.public]


def test_a_study_owner_signs_with_a_token(token: Token) -> None:
    store, data = MemoryStore(), evidence(base())["preregistration.json"]
    store.put(WHERE.preregistration(), data)

    told = list(sign_as_owner(store, WHERE, sha256(data), URI, PIN))

    key = token.load()
    listed = TrustList((TrustedKey("studyOwner", key.public),))
    assert dsse.verify(store.get(WHERE.study_signature()), listed, trust.STUDY_SIGNATURE).key.key == key.public
    assert key.key_id in told[-1]


def test_threads_that_sign_at_once_wait_for_each_other(token: Token) -> None:
    key, failed = token.load(), list[Exception]()

    def work() -> None:
        for _ in range(10):
            try:
                sign.statement(STATEMENT, key)
            except SigningFailed as error:
                failed.append(error)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []


def test_a_wrong_pin_is_told_and_tried_once(token: Token, monkeypatch: pytest.MonkeyPatch) -> None:
    key, asked = token.load(pin="mistyped"), list[str]()  # the public half needs none
    tried = HSMSigner.sign
    monkeypatch.setattr(HSMSigner, "sign", lambda self, data: asked.append("") or tried(self, data))

    for _ in range(3):
        with pytest.raises(SigningFailed, match=r"refuses the PIN.*Set the right PIN, and start this again") as refused:
            sign.statement(STATEMENT, key)

    assert len(asked) == 1
    assert "mistyped" not in str(refused.value)
    assert sign.statement(STATEMENT, token.load())


def test_a_key_that_hides_needs_the_pin_before_it_is_known(token: Token) -> None:
    assert sign.statement(STATEMENT, token.load(HIDDEN))
    with pytest.raises(SigningFailed, match="refuses the PIN"):
        token.load(HIDDEN, pin="mistyped")
    with pytest.raises(SigningFailed, match=r"the token wants a PIN\. Set FAIRTRIAL_SIGNING_PIN"):
        token.load(HIDDEN, pin="")
    with pytest.raises(SigningFailed, match=r"the token wants a PIN\. Set FAIRTRIAL_SIGNING_PIN"):
        sign.statement(STATEMENT, token.load(pin=""))


def test_what_is_not_there_is_named(token: Token, monkeypatch: pytest.MonkeyPatch) -> None:
    for uri, why in {
        "hsm:7?label=fairtrial": "could not find ECDSA key on the PKCS#11 token. Check KEY-ID",
        "hsm:2?label=other": "No PKCS#11 token found for label other",
        "hsm:two": "is not of the form KEY-ID",
        "hsm:2?token=fairtrial": "is not of the form KEY-ID",
    }.items():
        with pytest.raises(SigningFailed, match=why) as refused:
            token.load(uri)
        assert str(refused.value).startswith(f"Signing key {uri}: ")
    monkeypatch.setenv("PYKCS11LIB", "/usr/lib/none.so")
    with pytest.raises(SigningFailed, match=r"/usr/lib/none\.so: cannot open shared object file"):
        token.load()
    monkeypatch.delenv("PYKCS11LIB")
    with pytest.raises(SigningFailed, match="PYKCS11LIB environment variable must be set"):
        token.load()


def test_a_token_that_is_taken_out_is_told_and_used_again_when_it_is_back(token: Token) -> None:
    key = token.load()
    token.take_out()

    for _ in range(2):
        with pytest.raises(SigningFailed, match=r"the token does not answer|No PKCS#11 token found"):
            sign.statement(STATEMENT, key)

    token.put_back()
    assert sign.statement(STATEMENT, key)
