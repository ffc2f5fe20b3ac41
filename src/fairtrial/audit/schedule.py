"""The schedule again, from its seed: written anew from the description of `sha256-blocks-v1`, so that one mistake can't
hide in both. Pure.

Repetition by repetition, the tasks are visited in an order of their own; each visit is a block, with one run of each
candidate in an order of its own. An order is a Fisher-Yates shuffle, from the end, of the sorted names. Its stream of
64-bit big-endian numbers is SHA-256 over the lines tag, seed, label, counter; a number too large to be fair is passed
over.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

ALGORITHM = "sha256-blocks-v1"
RUNS_MAX = 20_000


def expected(cohort: str, seed: int, tasks: list[str], candidates: list[str], repetitions: int) -> dict[str, Any]:
    """The schedule document that these make."""
    tasks, candidates = sorted(tasks), sorted(candidates)
    visits = [
        (task, candidate, repetition)
        for repetition in range(1, repetitions + 1)
        for task in _order(tasks, seed, f"tasks/{repetition}")
        for candidate in _order(candidates, seed, f"arms/{repetition}/{task}")
    ]
    entries = [
        {
            "index": place,
            "run": f"{_short(cohort, 40)}-{place:05d}",
            "block": f"{_short(task, 57)}-{repetition:04d}",
            "task": task,
            "candidate": candidate,
            "repetition": repetition,
        }
        for place, (task, candidate, repetition) in enumerate(visits, 1)
    ]
    return {
        "schemaVersion": 1,
        "algorithm": ALGORITHM,
        "cohort": cohort,
        "seed": seed,
        "tasks": tasks,
        "candidates": candidates,
        "repetitions": repetitions,
        "entries": entries,
    }


def replacement(run: str, number: int) -> str:
    """The name of the `number`-th replacement of a scheduled run, from 1."""
    return f"{run}-r{number}"


def _order(names: list[str], seed: int, label: str) -> list[str]:
    left, stream, made = list(names), _stream(seed, label), list[str]()
    while len(left) > 1:
        size = len(left)
        fair = (1 << 64) // size * size
        number = next(stream)
        while number >= fair:
            number = next(stream)
        chosen = number % size
        left[chosen], left[-1] = left[-1], left[chosen]
        made.append(left.pop())
    return left + made[::-1]


def _stream(seed: int, label: str) -> Iterator[int]:
    for counter in range(1 << 32):
        block = hashlib.sha256(f"fairtrial/{ALGORITHM}\n{seed}\n{label}\n{counter}\n".encode()).digest()
        yield from (int.from_bytes(block[at : at + 8], "big") for at in (0, 8, 16, 24))


def _short(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
