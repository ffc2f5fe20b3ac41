"""The Merkle tree of RFC 6962 §2.1 over SHA-256: one root for each prefix of a list, in one pass and little memory."""

import hashlib
from collections.abc import Collection, Iterable

EMPTY = hashlib.sha256(b"").digest()


class Tree:
    """A growing list of leaves, of which only the roots of its complete subtrees are kept, largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Append one leaf, given as its content."""
        node = leaf_hash(leaf)
        # Each trailing 1 bit of the size is a complete subtree as large as what it is now joined with.
        size = self.size
        while size & 1:
            node = node_hash(self._subtrees.pop(), node)
            size >>= 1
        self._subtrees.append(node)
        self.size += 1

    def root(self) -> bytes:
        """The root of everything added so far."""
        if not self._subtrees:
            return EMPTY
        *rest, node = self._subtrees
        for left in reversed(rest):
            node = node_hash(left, node)
        return node


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf; its first byte keeps it apart from any node."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: Iterable[bytes]) -> bytes:
    """The root over all leaves."""
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def prefix_roots(leaves: Iterable[bytes], sizes: Collection[int]) -> dict[int, bytes]:
    """The roots of the first `size` leaves, for each asked size that there are leaves for."""
    tree, wanted = Tree(), set(sizes)
    found = {0: EMPTY} if 0 in wanted else {}
    for leaf in leaves:
        tree.add(leaf)
        if tree.size in wanted:
            found[tree.size] = tree.root()
    return found
