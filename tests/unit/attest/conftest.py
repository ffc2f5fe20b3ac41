"""Keys that are the same in every run."""

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.signing import keys
from fairtrial.signing.keys import SigningKey


def key_of(name: str) -> SigningKey:
    return keys.of_private(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


def ecdsa_key_of(name: str) -> SigningKey:
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:31])
    return keys.of_private(derive_private_key(seed, SECP256R1()))


@pytest.fixture
def operator() -> SigningKey:
    return key_of("operator")


@pytest.fixture
def evaluator() -> SigningKey:
    return key_of("evaluator")


@pytest.fixture
def trust(operator: SigningKey, evaluator: SigningKey) -> TrustList:
    return TrustList((TrustedKey("operator", operator.public), TrustedKey("evaluator", evaluator.public)))
