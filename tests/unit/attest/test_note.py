"""Signed notes: the published example of Go's sumdb/note, and every way in which a note may be spoiled."""

import base64
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fairtrial.attest import note
from fairtrial.attest.note import Checkpoint
from fairtrial.errors import Unproven
from fairtrial.signing import keys, sign
from fairtrial.signing.keys import SigningKey
from tests.unit.attest.conftest import ecdsa_key_of, key_of

ORIGIN = "fairtrial.dev/bench/pilot/5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a01"
CHECKPOINT = Checkpoint(ORIGIN, 17, bytes(range(32)))


class Published(NamedTuple):
    """The example in the documentation of golang.org/x/mod/sumdb/note."""

    name = "PeterNeumann"
    private = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
    public = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    line = (
        "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
    )


def test_the_published_note_is_verified_and_made_again_to_the_letter() -> None:
    key = keys.of_private(Ed25519PrivateKey.from_private_bytes(base64.b64decode(Published.private)[1:]))
    whole = f"{Published.text}\n{Published.line}".encode()

    assert note.vkey(Published.name, key.public) == Published.public
    assert note.verify(note.parse(whole), [key.public], key_name=Published.name) == [key.public]
    signature = bytes.fromhex(key.signer.sign(Published.text.encode()).signature)
    assert note.line(Published.name, key.public, signature) == Published.line


@pytest.mark.parametrize("key", [key_of("operator"), ecdsa_key_of("operator")], ids=["Ed25519", "ECDSA"])
def test_a_checkpoint_that_was_signed_is_read_again(key: SigningKey) -> None:
    data = sign.checkpoint(CHECKPOINT, key)

    read = note.parse(data)
    assert note.verify(read, [key_of("other").public, key.public], key_name=ORIGIN) == [key.public]
    assert note.checkpoint(read.text) == CHECKPOINT


def test_signing_a_checkpoint_twice_gives_the_same_bytes(operator: SigningKey) -> None:
    assert sign.checkpoint(CHECKPOINT, operator) == sign.checkpoint(CHECKPOINT, operator)


def test_a_changed_size_breaks_the_signature(operator: SigningKey) -> None:
    data = sign.checkpoint(CHECKPOINT, operator).replace(b"\n17\n", b"\n18\n")

    with pytest.raises(Unproven) as refused:
        note.verify(note.parse(data), [operator.public], key_name=ORIGIN)

    assert refused.value.code == "SIG_INVALID"


def test_a_key_that_is_not_trusted_counts_nothing(operator: SigningKey) -> None:
    data = sign.checkpoint(CHECKPOINT, operator)

    with pytest.raises(Unproven) as refused:
        note.verify(note.parse(data), [key_of("other").public], key_name=ORIGIN)

    assert refused.value.code == "SIG_UNTRUSTED_KEY"


def test_a_signature_for_another_log_counts_nothing(operator: SigningKey) -> None:
    data = sign.checkpoint(CHECKPOINT, operator)

    with pytest.raises(Unproven) as refused:
        note.verify(note.parse(data), [operator.public], key_name="fairtrial.dev/bench/other/uid")

    assert refused.value.code == "SIG_UNTRUSTED_KEY"


def test_one_key_that_signs_twice_is_one_signer(operator: SigningKey) -> None:
    data = sign.checkpoint(CHECKPOINT, operator)
    twice = data + data[data.index("— ".encode()) :]

    assert note.verify(note.parse(twice), [operator.public, operator.public], key_name=ORIGIN) == [operator.public]


def test_signatures_of_unknown_witnesses_are_passed_over(operator: SigningKey) -> None:
    data = sign.checkpoint(CHECKPOINT, operator) + "— witness.example/w AAAAAAAAAAAAAAAA\n".encode()

    assert note.verify(note.parse(data), [operator.public], key_name=ORIGIN) == [operator.public]


BAD_NOTES = {
    "no empty line": b"text\n" + "— a AAAAAAAA\n".encode(),
    "no newline at the end": "text\n\n— a AAAAAAAA".encode(),
    "a carriage return": "text\r\n\n— a AAAAAAAA\n".encode(),
    "a hyphen for the dash": b"text\n\n- a AAAAAAAA\n",
    "two spaces": "text\n\n— a  AAAAAAAA\n".encode(),
    "no base64": "text\n\n— a !!!!\n".encode(),
    "base64 with stray bits": "text\n\n— a AAAAAAAB\n— a AAAAAAB=\n".encode(),
    "a key id and nothing more": "text\n\n— a AAAAAA==\n".encode(),
    "no UTF-8": b"\xff\n\n\xe2\x80\x94 a AAAAAAAA\n",
    "a hundred signatures": ("text\n\n" + "— a AAAAAAAA\n" * 100).encode(),
    "a megabyte": b"x" * 1_000_000 + "\n\n— a AAAAAAAA\n".encode(),
    "nothing": b"",
}


@pytest.mark.parametrize("data", BAD_NOTES.values(), ids=BAD_NOTES.keys())
def test_what_is_no_note_is_refused(data: bytes) -> None:
    with pytest.raises(Unproven) as refused:
        note.parse(data)

    assert refused.value.code == "NOTE_INVALID"


ROOT = base64.b64encode(bytes(32)).decode()
BAD_CHECKPOINTS = {
    "a line more": f"o\n1\n{ROOT}\nmore\n",
    "no root": "o\n1\n",
    "no origin": f"\n1\n{ROOT}\n",
    "a size with a zero before it": f"o\n01\n{ROOT}\n",
    "a negative size": f"o\n-1\n{ROOT}\n",
    "a size in other digits": f"o\n\u0661\n{ROOT}\n",
    "a huge size": f"o\n{'9' * 30}\n{ROOT}\n",
    "a short root": "o\n1\nAAAA\n",
}


@pytest.mark.parametrize("text", BAD_CHECKPOINTS.values(), ids=BAD_CHECKPOINTS.keys())
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(Unproven) as refused:
        note.checkpoint(text)

    assert refused.value.code == "NOTE_INVALID"


@pytest.mark.parametrize("name", ["", "two words", "a+b", "a\u00a0b"])
def test_a_key_name_that_no_reader_would_take_is_not_written(name: str, operator: SigningKey) -> None:
    with pytest.raises(Unproven):
        note.line(name, operator.public, b"x" * 64)
