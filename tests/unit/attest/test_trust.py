"""Trust lists: read as written, by hand or by us, and refused where they say something that nobody meant."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fairtrial.attest import trust as trusts
from fairtrial.attest.publickey import PublicKey
from fairtrial.attest.trust import TrustList, Witness
from fairtrial.errors import Unproven
from fairtrial.signing.keys import SigningKey
from tests.unit.attest.conftest import key_of


def test_a_list_is_read_as_it_was_written(trust: TrustList) -> None:
    whole = TrustList(trust.keys, (), (Witness("witness.example/w", key_of("witness").public),))

    read = trusts.load(whole.to_bytes())

    assert read.to_bytes() == whole.to_bytes()
    assert {(one.role, one.key.key_id) for one in read.keys} == {(one.role, one.key.key_id) for one in whole.keys}


def test_a_list_that_a_person_indented_is_read(trust: TrustList) -> None:
    pretty = json.dumps(json.loads(trust.to_bytes()), indent=2).encode()

    assert trusts.load(pretty).to_bytes() == trust.to_bytes()


def test_the_order_of_keys_does_not_change_the_bytes(trust: TrustList) -> None:
    assert TrustList(trust.keys[::-1]).to_bytes() == trust.to_bytes()


def with_key(trust: TrustList, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(trust.to_bytes())
    made["keys"][0].update(changes)
    return made


def test_a_key_under_another_keys_id_is_refused(trust: TrustList, evaluator: SigningKey) -> None:
    made = with_key(trust, keyId=evaluator.key_id)

    with pytest.raises(Unproven, match=r"keys\[0\] names its key"):
        trusts.load(json.dumps(made).encode())


def test_bad_lists_are_refused(trust: TrustList) -> None:
    good: dict[str, Any] = json.loads(trust.to_bytes())
    bad = [
        with_key(trust, role="root"),
        with_key(trust, development="no"),
        with_key(trust, publicKey="-----BEGIN PUBLIC KEY-----\n"),
        with_key(trust, publicKey=1),
        with_key(trust, also=1),
        with_key(trust, validFrom="2026-01-31"),
        with_key(trust, validFrom="2026-1-31T12:00:00Z"),
        with_key(trust, revokedFrom=None),
        with_key(trust, validFrom="2026-02-01T00:00:00Z", revokedFrom="2026-02-01T00:00:00Z"),
        good | {"keys": [good["keys"][0], good["keys"][0]]},
        good | {"keys": {}},
        good | {"schemaVersion": 2},
        good | {"kind": "List"},
        good | {"also": 1},
        good | {"timestampAuthorities": [{"name": "a", "certificates": "none"}]},
        good | {"timestampAuthorities": [{"name": "a"}]},
        good | {"witnesses": [{"name": 1, "keyId": "", "publicKey": ""}]},
        [],
    ]
    for one in bad:
        with pytest.raises(Unproven) as refused:
            trusts.load(json.dumps(one).encode())
        assert refused.value.code == "TRUST_INVALID", one


@pytest.mark.parametrize(
    "generated",
    [lambda: rsa.generate_private_key(65537, 2048), lambda: ec.generate_private_key(ec.SECP384R1())],
    ids=["RSA", "P-384"],
)
def test_keys_of_other_kinds_are_refused(generated: Callable[[], Any]) -> None:
    pem = generated().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    with pytest.raises(Unproven, match="Ed25519 and ECDSA P-256"):
        PublicKey.from_pem(pem)
