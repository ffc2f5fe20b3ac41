"""Keys by URI: which are taken, and what is said about those that are not."""

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from fairtrial.errors import SigningFailed
from fairtrial.signing import keys


def written(path: Path, key: object, encryption: KeySerializationEncryption | None = None) -> Path:
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))  # type: ignore[attr-defined]
    return path


def test_a_new_key_is_its_owners_alone_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "operator.key"

    made = keys.new(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = keys.load(f"file:{path}")
    assert (read.key_id, read.development) == (made.key_id, False)
    signature = bytes.fromhex(read.signer.sign(b"data").signature)
    assert made.public.verifies(signature, b"data")
    assert not made.public.verifies(signature, b"other")


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "operator.key"
    path.write_text("mine")

    with pytest.raises(SigningFailed, match="File exists"):
        keys.new(path)

    assert path.read_text() == "mine"


def test_the_environment_names_the_key_and_whether_it_is_for_development(tmp_path: Path) -> None:
    made = keys.new(tmp_path / "a.key")
    uri = f"file:{tmp_path / 'a.key'}"

    assert keys.from_environment({}) is None
    assert keys.from_environment({"FAIRTRIAL_SIGNING_KEY": ""}) is None
    found = keys.from_environment({"FAIRTRIAL_SIGNING_KEY": uri, "FAIRTRIAL_SIGNING_DEVELOPMENT": "true"})
    assert found is not None
    assert (found.key_id, found.development) == (made.key_id, True)


def test_a_key_on_p256_is_taken_and_does_not_repeat_itself(tmp_path: Path) -> None:
    key = keys.load(f"file:{written(tmp_path / 'a.key', ec.generate_private_key(ec.SECP256R1()))}")

    assert not key.public.deterministic
    assert key.public.verifies(bytes.fromhex(key.signer.sign(b"data").signature), b"data")


def test_a_key_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "no.key").write_text("no key")
    p384 = written(tmp_path / "p384.key", ec.generate_private_key(ec.SECP384R1()))
    other = written(tmp_path / "rsa.key", rsa.generate_private_key(65537, 2048))
    locked = written(tmp_path / "b.key", ec.generate_private_key(ec.SECP256R1()), BestAvailableEncryption(b"secret"))
    for uri, why in {
        f"file:{tmp_path / 'none.key'}": "No such file",
        f"file:{tmp_path / 'no.key'}": "is no PKCS#8 PEM key",
        f"file:{p384}": "Ed25519 and ECDSA P-256",
        f"file:{other}": "neither Ed25519 nor ECDSA",
        f"file:{locked}": "without a password",
        "ftp:key": "has no known scheme",
        "key.pem": "has no known scheme",
        "azurekms:nonsense": "azurekms:nonsense",
    }.items():
        with pytest.raises(SigningFailed, match=why):
            keys.load(uri)
