"""Python's look for cyclic garbage, made seldom by programs that keep a lot.

Python looks at all that it keeps whenever that has grown by a quarter, and at what is new after every 700 objects. In a
program that reads tens of thousands of documents and keeps them, most of the time goes there; and nearly all garbage is
in no cycle, and is freed at once anyway.
"""

import gc

COLLECT_EVERY = 10_000  # new objects


def collect_seldom() -> None:
    """Leave what was made until now to itself, and look for cycles less often: when a program's imports are done."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, 20, 20)
