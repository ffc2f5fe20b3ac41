"""Keeps what is signed in the store: made once, and found again after a crash or an answer that was lost.

A key that repeats itself makes the same bytes again. One that does not, or one that was exchanged meanwhile, finds the
first signature in its place: if that says the same, it stays, and the trust list decides whether it counts.
"""

import logging

from fairtrial.attest import dsse, note
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import Statement
from fairtrial.errors import Conflict, Unproven
from fairtrial.evidence.objects import ObjectStore
from fairtrial.signing import sign, timestamps
from fairtrial.signing.keys import SigningKey

log = logging.getLogger(__name__)
BUNDLE_TYPE, NOTE_TYPE, REPLY_TYPE = "application/json", "text/plain; charset=utf-8", "application/timestamp-reply"


def keep_statement(store: ObjectStore, key: str, what: Statement, by: SigningKey) -> bool:
    """Store a signed statement under `key`; `Conflict` where another statement lies there.

    False where the same was signed before in other words: by another key, or by one that does not repeat itself.
    """
    data = sign.statement(what, by)
    try:
        store.put(key, data, media_type=BUNDLE_TYPE)
    except Conflict:
        if not _says(store.get(key), key, what.to_bytes()):
            raise
        log.warning("%s is signed already, by another key or at another time; it stays", key)
        return False
    return True


def keep_checkpoint(store: ObjectStore, key: str, what: Checkpoint, by: SigningKey) -> bytes:
    """Store a signed checkpoint under `key`, and give what lies there; `Conflict` where it is of another tree."""
    data = sign.checkpoint(what, by)
    try:
        store.put(key, data, media_type=NOTE_TYPE)
    except Conflict:
        found = store.get(key)
        try:
            same = note.parse(found, name=key).text == what.text()
        except Unproven:
            same = False
        if not same:
            raise
        log.warning("%s is signed already, by another key or at another time; it stays", key)
        return found
    return data


def keep_timestamp(store: ObjectStore, key: str, data: bytes, url: str) -> None:
    """Have an authority stamp `data` and store its reply, unless one lies there: the first is the earliest."""
    if store.head(key) is not None:
        return
    try:
        store.put(key, timestamps.ask(url, data), media_type=REPLY_TYPE)
    except Conflict:
        log.info("%s was stamped meanwhile", key)


def _says(found: bytes, key: str, payload: bytes) -> bool:
    try:
        return dsse.parse(found, name=key).payload == payload
    except Unproven:
        return False
