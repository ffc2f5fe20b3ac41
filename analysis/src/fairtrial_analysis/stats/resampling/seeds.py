"""The generator of one metric, from the committed seed: adding a metric moves no other. Pure.

The seed is a named digest, not Python's `hash`, which differs between processes. Only the bit stream of PCG64 is
promised to stay the same by numpy; scipy's resampling draws integers from it, which the lock file pins.
"""

import hashlib

import numpy as np


def seed_of(analysis_seed: int, metric: str) -> int:
    """The metric's own seed: the first 16 bytes of SHA-256 over `seed/metric`."""
    digest = hashlib.sha256(f"{analysis_seed}/{metric}".encode()).digest()
    return int.from_bytes(digest[:16], "big")


def generator(analysis_seed: int, metric: str) -> np.random.Generator:
    """The metric's own generator."""
    return np.random.Generator(np.random.PCG64(seed_of(analysis_seed, metric)))
