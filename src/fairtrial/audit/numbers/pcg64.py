"""numpy's default generator again: PCG64 (XSL-RR), its seeding, and its integers below a limit. Pure.

O'Neill 2014 for the generator and the seed sequence; Lemire 2019 for unbiased integers. Needed to follow drawn
resamples from the committed seed without numpy.
"""

import hashlib

_M32, _M64, _M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R, _POOL = 0xCA01F9DD, 0x4973F715, 4


def seed_of(analysis_seed: int, metric: str) -> int:
    """A metric's own seed: the first 16 bytes of SHA-256 over `seed/metric`."""
    return int.from_bytes(hashlib.sha256(f"{analysis_seed}/{metric}".encode()).digest()[:16], "big")


class Generator:
    """A stream of integers from a seed."""

    def __init__(self, seed: int) -> None:
        high, low, inc_high, inc_low = _seed_state(seed)
        self._increment = ((((inc_high << 64) | inc_low) << 1) | 1) & _M128
        self._state = 0
        self._step()
        self._state = (self._state + ((high << 64) | low)) & _M128
        self._step()
        self._half: int | None = None  # the upper half of a number of which only the lower was used

    def below(self, limit: int) -> int:
        """An integer from 0 to `limit` - 1."""
        if limit == 1:
            return 0
        made = self._next32() * limit
        if made & _M32 < limit:
            unfair = ((1 << 32) - limit) % limit
            while made & _M32 < unfair:
                made = self._next32() * limit
        return made >> 32

    def _next32(self) -> int:
        if self._half is not None:
            made, self._half = self._half, None
            return made
        self._step()
        mixed, turn = (self._state >> 64) ^ (self._state & _M64), self._state >> 122
        number = ((mixed >> turn) | (mixed << (64 - turn))) & _M64 if turn else mixed
        self._half = number >> 32
        return number & _M32

    def _step(self) -> None:
        self._state = (self._state * _MULTIPLIER + self._increment) & _M128


def _seed_state(seed: int) -> list[int]:
    """Four 64-bit words from a seed of any size."""
    words: list[int] = []
    while seed or not words:
        words.append(seed & _M32)
        seed >>= 32
    factor = _INIT_A

    def hashed(value: int) -> int:
        nonlocal factor
        value ^= factor
        factor = (factor * _MULT_A) & _M32
        value = (value * factor) & _M32
        return value ^ (value >> 16)

    def mixed(x: int, y: int) -> int:
        made = (_MIX_L * x - _MIX_R * y) & _M32
        return made ^ (made >> 16)

    pool = [hashed(words[at] if at < len(words) else 0) for at in range(_POOL)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in words[_POOL:]:
        for target in range(_POOL):
            pool[target] = mixed(pool[target], hashed(word))
    factor, made = _INIT_B, []
    for at in range(8):
        value = pool[at % _POOL] ^ factor
        factor = (factor * _MULT_B) & _M32
        value = (value * factor) & _M32
        made.append(value ^ (value >> 16))
    return [made[at] | (made[at + 1] << 32) for at in range(0, 8, 2)]
