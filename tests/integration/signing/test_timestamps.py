"""Time-stamps from `openssl ts`, asked for over HTTP, and checked by us and by openssl."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairtrial.attest import timestamp, trust
from fairtrial.attest.trust import TimestampAuthority
from fairtrial.errors import SigningFailed, Unproven
from fairtrial.signing import timestamps
from tests import authority
from tests.authority import Authority

DATA = b'{"kind":"Preregistration"}'


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    with authority.serve(tmp_path_factory.mktemp("tsa")) as served:
        yield served


@pytest.fixture(scope="module")
def reply(tsa: Authority) -> bytes:
    return timestamps.ask(tsa.url, DATA)


@pytest.fixture
def listed(tsa: Authority) -> TimestampAuthority:
    return trust.authority("test", tsa.root_pem)


def code_of(reply: bytes, data: bytes, *listed: TimestampAuthority) -> str:
    with pytest.raises(Unproven) as refused:
        timestamp.verify(reply, data, listed, name="preregistration.tsr")
    return refused.value.code


def test_a_stamp_says_when_and_by_whom(reply: bytes, listed: TimestampAuthority) -> None:
    stamp = timestamp.verify(reply, DATA, [listed], name="x")

    assert stamp.authority == "test"
    assert abs(datetime.now(UTC) - stamp.at) < timedelta(minutes=5)


def test_openssl_agrees(reply: bytes, tsa: Authority, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(DATA)
    (tmp_path / "reply.tsr").write_bytes(reply)

    command = ["openssl", "ts", "-verify", "-data", "data", "-in", "reply.tsr", "-CAfile", tsa.folder / "root.pem"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "Verification: OK", done.stderr


def test_a_stamp_of_other_bytes_proves_nothing(reply: bytes, listed: TimestampAuthority) -> None:
    assert code_of(reply, DATA + b" ", listed) == "TS_INVALID"


def test_every_changed_byte_of_a_stamp_is_noticed_or_changes_nothing(reply: bytes, listed: TimestampAuthority) -> None:
    at = timestamp.verify(reply, DATA, [listed], name="x").at
    for place in range(0, len(reply), 7):
        bent = bytearray(reply)
        bent[place] ^= 0x01
        try:
            stamp = timestamp.verify(bytes(bent), DATA, [listed], name="x")
        except Unproven:
            continue
        assert stamp.at == at, place  # fields of a reply that nobody signs, such as an algorithm's parameters


def test_an_authority_outside_the_list_does_not_count(reply: bytes, tmp_path: Path, listed: TimestampAuthority) -> None:
    other = trust.authority("other", authority.make(tmp_path).root_pem)

    assert code_of(reply, DATA, other) == "TS_UNTRUSTED"
    assert code_of(reply, DATA) == "TS_UNTRUSTED"
    assert timestamp.verify(reply, DATA, [other, listed], name="x").authority == "test"


def test_an_authority_is_listed_with_its_root(tsa: Authority, reply: bytes) -> None:
    signer = (tsa.folder / "signer.pem").read_text()

    with pytest.raises(Unproven, match="its root certificate is not among them"):
        trust.authority("signer", signer)
    both = trust.authority("both", signer + tsa.root_pem)
    assert timestamp.verify(reply, DATA, [both], name="x").authority == "both"


@pytest.mark.parametrize("bad", [b"", b"nonsense", b"0\x03\x02\x01\x02", b"\x30" * 70_000])
def test_what_is_no_reply_is_refused(bad: bytes, listed: TimestampAuthority) -> None:
    assert code_of(bad, DATA, listed) == "TS_INVALID"


def test_an_authority_that_does_not_answer_is_named(tsa: Authority) -> None:
    tsa.refuse = True
    try:
        with pytest.raises(SigningFailed, match="503"):
            timestamps.ask(tsa.url, DATA)
    finally:
        tsa.refuse = False
    with pytest.raises(SigningFailed, match="is no http"):
        timestamps.ask("file:///etc/passwd", DATA)


def test_an_old_reply_is_no_answer_to_a_new_request(
    tsa: Authority, reply: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tsa, "reply", lambda _: reply)

    with pytest.raises(SigningFailed, match="answered another request"):
        timestamps.ask(tsa.url, DATA)
