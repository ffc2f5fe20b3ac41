"""Bodies without their content coding: right at any cut, bounded whatever was compressed."""

import gzip
import zlib

import brotli
import pytest
from backports import zstd
from fairtrial_gateway.models.decompress import FLOOR, PIECE, Plain

TEXT = b"".join(b"data: %d \xe2\x82\xac\n\n" % n for n in range(20_000))
ENCODED = {
    "": TEXT,
    "identity": TEXT,
    "gzip": gzip.compress(TEXT),
    "X-GZIP": gzip.compress(TEXT[:5]) + gzip.compress(TEXT[5:]),
    "deflate": zlib.compress(TEXT),
    "Deflate": zlib.compress(TEXT)[2:-4],
    "br": brotli.compress(TEXT, quality=5),
    "zstd": zstd.compress(TEXT[:7]) + zstd.compress(TEXT[7:]),
}

BOMBS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),  # as small as at 11, in a twentieth of the time
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("coding", ENCODED)
@pytest.mark.parametrize("cut", [1, 7, 1000, 10**9])
def test_a_body_is_read_whatever_its_cuts(coding, cut):
    plain, data = Plain(coding, 10**9), ENCODED[coding]

    read = b"".join(p for at in range(0, len(data), cut) for p in plain.pieces(data[at : at + cut]))

    assert plain.problem == ""
    assert read == TEXT


@pytest.mark.parametrize("coding", BOMBS)
def test_a_bomb_is_left_alone_at_the_limit(coding):
    bomb = BOMBS[coding](bytes(100_000_000))
    plain, read, longest = Plain(coding, 1_000_000), 0, 0

    for at in range(0, len(bomb), 1000):
        for piece in plain.pieces(bomb[at : at + 1000]):
            read, longest = read + len(piece), max(longest, len(piece))

    assert read <= 1_000_000 and "longer than the limit" in plain.problem
    assert longest <= PIECE * 4
    assert list(plain.pieces(b"x")) == []


def test_what_grows_a_thousandfold_is_no_conversation():
    plain, read = Plain("gzip", 10**9), 0
    for piece in plain.pieces(gzip.compress(bytes(50_000_000))):
        read += len(piece)

    assert FLOOR <= read < 25_000_000 and "longer than the limit" in plain.problem


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_is_not_in_its_coding_says_so(coding):
    plain = Plain(coding, 1000)

    assert b"".join(plain.pieces(b"\xff\xfenot compressed at all" * 10)) == b""
    assert "not in its content coding" in plain.problem


@pytest.mark.parametrize("coding", ["snappy", "gzip, br"])
def test_an_unknown_coding_says_so(coding):
    plain = Plain(coding, 1000)

    assert list(plain.pieces(b"x")) == []
    assert coding in plain.problem
