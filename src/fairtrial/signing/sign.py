"""Signs statements and checkpoints. With an Ed25519 key, the same content gives the same bytes, whoever signs when."""

from collections.abc import Sequence

from fairtrial.attest import note
from fairtrial.attest.dsse import Bundle, pae
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import PAYLOAD_TYPE, Statement
from fairtrial.errors import SigningFailed
from fairtrial.signing.keys import SigningKey


def statement(what: Statement, key: SigningKey) -> bytes:
    """The Sigstore bundle in which `key` says `what`."""
    payload = what.to_bytes()
    signature = _signature(key, pae(PAYLOAD_TYPE, payload))
    return Bundle(key.key_id, payload, PAYLOAD_TYPE, signature).to_bytes()


def stamped(bundle: Bundle, timestamps: Sequence[bytes]) -> bytes:
    """The same bundle with RFC 3161 replies, which have to be over its raw signature."""
    return Bundle(bundle.key_id, bundle.payload, bundle.payload_type, bundle.signature, tuple(timestamps)).to_bytes()


def checkpoint(what: Checkpoint, key: SigningKey) -> bytes:
    """The signed note of a checkpoint; its key name is the log's origin."""
    text = what.text()
    return f"{text}\n{note.line(what.origin, key.public, _signature(key, text.encode()))}".encode()


def _signature(key: SigningKey, data: bytes) -> bytes:
    try:
        signature = bytes.fromhex(key.signer.sign(data).signature)
    except SigningFailed as error:
        raise SigningFailed(f"Signing with key {key.key_id}: {error.message}", next_move=error.next_move) from error
    except Exception as error:  # a module or a key service may fail in ways of its own
        raise SigningFailed(f"Signing with key {key.key_id}: {type(error).__name__}: {error}") from error
    if not key.public.verifies(signature, data):
        raise SigningFailed(f"Signing with key {key.key_id}: its signature does not fit its public key.")
    return signature
