"""Signed statements: what is read again, and what each change to a bundle, a key or a role is called."""

import base64
import json
from typing import Any

import pytest
from securesystemslib.dsse import Envelope

from fairtrial.attest import canonical, dsse, statement, trust
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustList
from fairtrial.errors import Unproven
from fairtrial.signing import sign
from fairtrial.signing.keys import SigningKey
from tests.unit.attest.conftest import ecdsa_key_of, key_of

DIGEST = "ab" * 32
STATEMENT = Statement.of([("record.json", DIGEST)], statement.PROVENANCE, {"buildDefinition": {"n": 1}})


def refused(data: bytes, listed: TrustList, roles: tuple[str, ...] = trust.RECORD) -> str:
    with pytest.raises(Unproven) as error:
        dsse.verify(data, listed, roles, name="bundle")
    return error.value.code


def changed(data: bytes, **changes: Any) -> bytes:
    """The bundle with values replaced, each named by its path with `__` between."""
    made = json.loads(data)
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = made
        for name in parents:
            place = place[int(name) if name.isdecimal() else name]
        place[last] = value
    return canonical.to_bytes(made)


def test_the_published_encoding_before_signing() -> None:
    made = dsse.pae("http://example.com/HelloWorld", b"hello world")

    assert made == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert made == Envelope(b"hello world", "http://example.com/HelloWorld", {}).pae()


def test_a_signed_statement_is_read_again(operator: SigningKey, trust: TrustList) -> None:
    found = dsse.verify(sign.statement(STATEMENT, operator), trust, ["operator"])

    assert found.statement == STATEMENT
    assert found.statement.digests == {"record.json": DIGEST}
    assert (found.key.role, found.key.key.key_id) == ("operator", operator.key_id)


def test_ecdsa_is_accepted() -> None:
    key = ecdsa_key_of("operator")
    listed = TrustList((trust.TrustedKey("operator", key.public),))

    assert dsse.verify(sign.statement(STATEMENT, key), listed, ["operator"]).statement == STATEMENT


def test_the_same_statement_gets_the_same_bytes(operator: SigningKey) -> None:
    assert sign.statement(STATEMENT, operator) == sign.statement(STATEMENT, operator)


def test_the_signature_names_no_key_since_cosign_refuses_it(operator: SigningKey) -> None:
    made = json.loads(sign.statement(STATEMENT, operator))

    assert set(made["dsseEnvelope"]["signatures"][0]) == {"sig"}
    assert base64.b64decode(made["verificationMaterial"]["publicKey"]["hint"]).decode() == operator.key_id


def test_time_stamps_travel_with_the_bundle(operator: SigningKey, trust: TrustList) -> None:
    plain = dsse.parse(sign.statement(STATEMENT, operator))

    found = dsse.verify(sign.stamped(plain, [b"reply"]), trust, ["operator"])

    assert found.bundle.timestamps == (b"reply",)
    assert found.bundle.signature == plain.signature


def test_another_payload_breaks_the_signature(operator: SigningKey, trust: TrustList) -> None:
    other = Statement.of([("record.json", "cd" * 32)], statement.PROVENANCE, {})
    payload = base64.b64encode(other.to_bytes()).decode()

    assert refused(changed(sign.statement(STATEMENT, operator), dsseEnvelope__payload=payload), trust) == "SIG_INVALID"


def test_another_payload_type_breaks_the_signature(operator: SigningKey, trust: TrustList) -> None:
    data = changed(sign.statement(STATEMENT, operator), dsseEnvelope__payloadType="application/json")

    assert refused(data, trust) == "SIG_INVALID"


def test_a_key_outside_the_list_is_not_trusted(trust: TrustList) -> None:
    assert refused(sign.statement(STATEMENT, key_of("other")), trust) == "SIG_UNTRUSTED_KEY"


def test_a_hint_of_a_trusted_key_does_not_make_a_signature_its_own(operator: SigningKey, trust: TrustList) -> None:
    hint = base64.b64encode(operator.key_id.encode()).decode()
    data = changed(sign.statement(STATEMENT, key_of("other")), verificationMaterial__publicKey__hint=hint)

    assert refused(data, trust) == "SIG_INVALID"


def test_a_key_of_another_role_may_not_sign_it(evaluator: SigningKey, trust: TrustList) -> None:
    assert refused(sign.statement(STATEMENT, evaluator), trust) == "SIG_WRONG_ROLE"


def test_a_key_with_two_roles_may_act_in_both(operator: SigningKey) -> None:
    both = TrustList(tuple(trust.TrustedKey(role, operator.public) for role in ("evaluator", "operator")))

    assert dsse.verify(sign.statement(STATEMENT, operator), both, ["operator"]).key.role == "operator"


BAD_BUNDLES: dict[str, dict[str, Any]] = {
    "another version": {"mediaType": "application/vnd.dev.sigstore.bundle+json;version=0.2"},
    "a field more": {"also": 1},
    "a field more inside": {"dsseEnvelope__also": 1},
    "a certificate for the key": {"verificationMaterial": {"certificate": {"rawBytes": "AAAA"}}},
    "an entry of a log": {"verificationMaterial__tlogEntries": [{}]},
    "no signature": {"dsseEnvelope__signatures": []},
    "two signatures": {"dsseEnvelope__signatures": [{"sig": "AAAA"}, {"sig": "AAAA"}]},
    "a key id beside the signature": {"dsseEnvelope__signatures": [{"sig": "AAAA", "keyid": "a"}]},
    "bad base64": {"dsseEnvelope__payload": "A"},
    "base64 with stray bits": {"dsseEnvelope__payload": "AAB="},
    "a number for text": {"dsseEnvelope__payload": 1},
    "an empty list of time-stamps": {"verificationMaterial__timestampVerificationData": {"rfc3161Timestamps": []}},
    "a list for an object": {"dsseEnvelope": []},
}


@pytest.mark.parametrize("changes", BAD_BUNDLES.values(), ids=BAD_BUNDLES.keys())
def test_what_is_no_bundle_is_refused(changes: dict[str, Any], operator: SigningKey, trust: TrustList) -> None:
    assert refused(changed(sign.statement(STATEMENT, operator), **changes), trust) == "BUNDLE_INVALID"


def test_a_bundle_in_another_spelling_is_refused(operator: SigningKey, trust: TrustList) -> None:
    pretty = json.dumps(json.loads(sign.statement(STATEMENT, operator)), indent=1).encode()

    assert refused(pretty, trust) == "JSON_NOT_CANONICAL"


SUBJECT = {"name": "a", "digest": {"sha256": DIGEST}}
GOOD: dict[str, Any] = {"_type": statement.TYPE, "predicate": {}, "predicateType": "x", "subject": [SUBJECT]}
BAD_STATEMENTS: dict[str, Any] = {
    "an in-toto link, which has the same payload type": {"_type": "link", "name": "a"},
    "the type of an older version": GOOD | {"_type": "https://in-toto.io/Statement/v0.1"},
    "no subject": GOOD | {"subject": []},
    "the same subject twice": GOOD | {"subject": [SUBJECT, SUBJECT]},
    "a subject by another hash": GOOD | {"subject": [{"name": "a", "digest": {"sha1": "00"}}]},
    "a digest in capitals": GOOD | {"subject": [{"name": "a", "digest": {"sha256": DIGEST.upper()}}]},
    "a subject without a name": GOOD | {"subject": [{"digest": {"sha256": DIGEST}}]},
    "a field more": GOOD | {"also": 1},
    "a list for a predicate": GOOD | {"predicate": []},
    "a list": [],
}


@pytest.mark.parametrize("raw", BAD_STATEMENTS.values(), ids=BAD_STATEMENTS.keys())
def test_what_is_no_statement_is_refused(raw: Any) -> None:
    with pytest.raises(Unproven) as error:
        statement.parse(canonical.to_bytes(raw))

    assert error.value.code == "STATEMENT_INVALID"


def test_a_signed_document_that_is_no_statement_is_refused(operator: SigningKey, trust: TrustList) -> None:
    envelope = Envelope(b"{}", "text/plain", {})
    signature = bytes.fromhex(operator.signer.sign(envelope.pae()).signature)
    data = dsse.Bundle(operator.key_id, b"{}", "text/plain", signature).to_bytes()

    assert refused(data, trust) == "BUNDLE_INVALID"
