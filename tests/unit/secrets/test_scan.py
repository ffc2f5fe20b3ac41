"""The scanner finds a secret in any encoding, cut anywhere, and shows nothing of it."""

import base64
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.errors import InvalidInput
from fairtrial.secrets.scan import Finding, Scanner, scan

CANARY = b"fairtrial-canary-7Q/x+9=_Z"
_PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=60).map(str.encode)
_AROUND = st.one_of(st.binary(max_size=30), st.text(alphabet='ab %\\u"n04xX+/=-_\n', max_size=30).map(str.encode))


def _mixed_percent(secret: bytes, which: int) -> bytes:
    """Any mix: the bits of `which` say which characters are encoded, and in which case."""
    return b"".join(
        (f"%{byte:02x}" if which >> index & 2 else f"%{byte:02X}").encode() if which >> index & 1 else bytes([byte])
        for index, byte in enumerate(secret)
    )


def _json_unicode(secret: bytes, which: int) -> bytes:
    text = json.dumps(secret.decode("latin-1"))[1:-1] if which & 1 else ""
    return text.encode() or b"".join(f"\\u{byte:04x}".encode() for byte in secret)


ENCODINGS = {
    "plain": lambda secret, _: secret,
    "base64": lambda secret, which: base64.b64encode(bytes(which % 3) + secret + b"tail"[: which % 5]),
    "base64 urlsafe": lambda secret, which: base64.urlsafe_b64encode(b"xy"[: which % 3] + secret),
    "base64 in lines": lambda secret, which: base64.encodebytes(bytes(70 + which % 3) + secret + bytes(40)),
    "percent": _mixed_percent,
    "percent all": lambda secret, _: _mixed_percent(secret, (1 << 100) - 1),
    "percent twice": lambda secret, _: quote(quote(secret, safe=""), safe="").encode(),
    "json": _json_unicode,
    "json in json": lambda secret, _: json.dumps(json.dumps({"a": secret.decode("latin-1")})).encode(),
    "hex": lambda secret, which: (secret.hex() if which & 1 else secret.hex().upper()).encode(),
    "hex spaced": lambda secret, _: secret.hex(" ").encode(),
    "hex escaped": lambda secret, _: "".join(f"\\x{byte:02x}" for byte in secret).encode(),
    "hex in C": lambda secret, _: ", ".join(f"0x{byte:02x}" for byte in secret).encode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_encoding_and_any_cut_is_found(encoding: str):
    @settings(max_examples=14, deadline=None)
    @given(secret=_PRINTABLE, which=st.integers(0, 2**64), before=_AROUND, after=_AROUND, piece=st.integers(1, 40))
    def check(secret, which, before, after, piece):
        # What stands between keeps what is around from joining in, as a hex digit or half an escape would.
        stream = before + b" ~ " + ENCODINGS[encoding](secret, which) + b" ~ " + after
        whole = scan([stream], {"key": secret})
        assert "key" in {each.name for each in whole}
        scanner = Scanner({"key": secret}, piece=piece)
        scanner.feed(stream)
        assert scanner.finish() == whole

    check()


EXACT = {
    "plain": CANARY,
    "percent": b"fairtrial%2Dcanary-7Q%2fx+9=_Z",
    "json": rb"fairtrial-canary-7Q\/x\u002b9=_Z",
    "base64": base64.b64encode(CANARY),
    "hex": CANARY.hex().encode(),
    "json in json": rb"fairtrial-canary-7Q\\/x\\u002b9=_Z",
    "percent in percent": b"fairtrial-canary-7Q%252fx+9=_Z",
    "percent in json": rb"fairtrial\u0025\u0032\u0064canary-7Q/x+9=_Z",
    "hex in json": "".join(f"\\\\x{byte:02x}" for byte in CANARY).encode(),
}


@pytest.mark.parametrize("encoding", EXACT)
def test_a_finding_tells_encoding_and_offset(encoding: str):
    before = b'{"text": "'
    found = scan([before, EXACT[encoding], b'", "more": 1}'], {"canary": CANARY})
    assert [(each.name, each.encoding) for each in found] == [("canary", encoding)]
    end = len(before) + len(EXACT[encoding])
    assert end - 2 <= found[0].offset <= end  # base64 has a rest that is not looked for


def test_each_encoding_is_told_once_and_each_secret_apart():
    other = b"another-secret"
    stream = [CANARY, b" ", CANARY, b" ", base64.b64encode(other), b" ", EXACT["percent"], b" ", EXACT["percent"]]
    found = scan(stream, {"canary": CANARY, "other": other})
    assert [(each.name, each.encoding) for each in found] == [
        ("canary", "plain"),
        ("other", "base64"),
        ("canary", "percent"),
    ]
    assert found[0] == Finding("canary", "plain", len(CANARY))


def test_base64_that_a_tool_wrapped_within_a_json_string_is_found():
    wrapped = json.dumps({"stdout": base64.encodebytes(b"x" * 50 + CANARY + b"y" * 50).decode()}).encode()
    assert [each.encoding for each in scan([wrapped], {"canary": CANARY})] == ["base64 in json"]


@pytest.mark.parametrize(
    "near", [CANARY[:-1], CANARY.swapcase(), CANARY[::-1], base64.b64encode(CANARY[:-4]), CANARY.hex()[:-2].encode()]
)
def test_what_is_near_a_secret_is_none(near: bytes):
    assert scan([near, b" ", near], {"canary": CANARY}) == []


def test_nothing_shows_the_secret():
    scanner = Scanner({"canary": CANARY})
    scanner.feed(CANARY)
    shown = f"{scanner!r} {scanner.finish()!r} {scanner.__dict__!r}"
    assert "canary-7Q" not in shown
    with pytest.raises(InvalidInput, match="secret 'short'") as caught:
        Scanner({"short": b"hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "hostile",
    [
        b"\\" * 100_000,
        b"%4" * 100_000,
        b"\\u" * 70_000,
        b"a" * 200_000,
        rb"\ud83d" * 33_000,
        b"0x" * 100_000,
        b"\n" * 100_000,
    ],
    ids=lambda each: each[:8].decode(),
)
def test_hostile_input_takes_linear_time(hostile: bytes):
    secrets = {"a": b"a" * 30 + b"b", "canary": CANARY}
    start = time.process_time()
    scan([hostile], secrets)
    once = time.process_time() - start
    scan([hostile] * 4, secrets)
    four_times = time.process_time() - start - once
    assert four_times < max(0.3, 16 * once)  # quadratic would be 16 times, and seconds


def test_memory_is_bounded():
    scanner = Scanner({"canary": CANARY})
    for _ in range(40):
        scanner.feed(rb"\u00" * 8000 + b"%" * 1000)
    assert sum(len(view._held) + len(view._tail) for view in scanner._views.values()) < 10_000
