"""Where a value stands among its peers: the mid-rank, peers excluding itself. Exact.

Reference: the same as scipy.stats.percentileofscore(kind="mean"), as a rational. Without peers there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class PeerPercentile:
    """Share of peers below, ties counting half."""

    peers: int
    value: Fraction | None
    reason: str = ""


def peer_percentile(value: Number, peers: Sequence[Number]) -> PeerPercentile:
    """Of a value among others."""
    if not peers:
        return PeerPercentile(0, None, "no_peers")
    below, ties = sum(each < value for each in peers), sum(each == value for each in peers)
    return PeerPercentile(len(peers), Fraction(2 * below + ties, 2 * len(peers)))
