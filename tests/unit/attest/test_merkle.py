"""The published roots of Certificate Transparency's own tests, and the definition of RFC 6962 §2.1 itself."""

import hashlib
from collections.abc import Sequence

import pytest

from fairtrial.attest import merkle

LEAVES = [
    bytes.fromhex(one)
    for one in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("size", range(len(ROOTS)))
def test_roots_are_the_published_ones(size: int) -> None:
    assert merkle.root(LEAVES[:size]).hex() == ROOTS[size]


def test_one_pass_gives_the_roots_of_all_asked_prefixes() -> None:
    found = merkle.prefix_roots(LEAVES, [0, 3, 8, 9])

    assert {size: root.hex() for size, root in found.items()} == {0: ROOTS[0], 3: ROOTS[3], 8: ROOTS[8]}


def test_any_size_gives_what_the_definition_says() -> None:
    leaves = [str(number).encode() for number in range(200)]

    found = merkle.prefix_roots(leaves, range(201))

    assert found == {size: defined(leaves[:size]) for size in range(201)}


def test_a_node_can_not_pass_for_a_leaf() -> None:
    inner = merkle.leaf_hash(b"a") + merkle.leaf_hash(b"b")

    assert merkle.root([inner]) != merkle.root([b"a", b"b"])


def defined(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962 §2.1, word by word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + defined(leaves[:k]) + defined(leaves[k:])).digest()
