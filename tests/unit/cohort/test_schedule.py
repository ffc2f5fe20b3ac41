"""The schedule: the same bytes everywhere, every cell exactly as often as asked, and no order likelier than another."""

import hashlib
import itertools
import json
import os
import string
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial import names
from fairtrial.cohort.schedule import (
    Schedule,
    _below,
    block_name,
    make_schedule,
    replacement_name,
    run_name,
    shortened,
    shuffled,
)
from fairtrial.errors import InvalidInput

# [a-z]([a-z0-9-]{0,61}[a-z0-9])?, put together: drawing from the expression takes several times as long.
NAME = st.builds(
    lambda first, rest: (first + rest).rstrip("-"),
    st.sampled_from(string.ascii_lowercase),
    st.text(f"{string.ascii_lowercase}{string.digits}-", max_size=62),
)
NAMES = st.lists(NAME, min_size=1, max_size=5, unique=True)
SEEDS = st.integers(0, 2**53)


# --- reference vectors: these never change for sha256-blocks-v1 -------------------------------------------------------
def test_the_first_numbers_are_those_of_the_definition():
    """Written out by hand, without the code under test: one draw of a shuffle of two."""
    digest = hashlib.sha256(b"fairtrial/sha256-blocks-v1\n7\narms/1/t\n0\n").digest()
    swapped = int.from_bytes(digest[:8], "big") % 2 == 0
    assert shuffled(["a", "b"], 7, "arms/1/t") == (["b", "a"] if swapped else ["a", "b"])


@pytest.mark.parametrize(("seed", "label", "expected"), [
    (0, "tasks/1", "dfhbejcgia"),
    (1, "tasks/1", "ijdeagchbf"),
    (2**53, "arms/3/task", "jhicdfgabe"),
])  # fmt: skip
def test_shuffles_are_those_of_the_reference(seed: int, label: str, expected: str):
    assert "".join(shuffled("abcdefghij", seed, label)) == expected


def test_a_schedule_has_the_digest_of_the_reference():
    made = make_schedule("paired", 20260723, ["defect", "feature", "rename"], ["framework", "plain"], 2)
    assert [(entry.run, entry.block, entry.candidate) for entry in made.entries] == VECTOR_ENTRIES
    assert made.sha256 == "716d9393ccdcfc2b7254144d0b32778a9d86c0fd8b2ec75d72ce6543ebe0c19e"


VECTOR_ENTRIES = [
    ("paired-00001", "feature-0001", "framework"),
    ("paired-00002", "feature-0001", "plain"),
    ("paired-00003", "defect-0001", "framework"),
    ("paired-00004", "defect-0001", "plain"),
    ("paired-00005", "rename-0001", "framework"),
    ("paired-00006", "rename-0001", "plain"),
    ("paired-00007", "feature-0002", "plain"),
    ("paired-00008", "feature-0002", "framework"),
    ("paired-00009", "defect-0002", "framework"),
    ("paired-00010", "defect-0002", "plain"),
    ("paired-00011", "rename-0002", "plain"),
    ("paired-00012", "rename-0002", "framework"),
]


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_another_process_gives_the_same_bytes(hash_seed: str):
    script = (
        "from fairtrial.cohort.schedule import make_schedule;"
        "print(make_schedule('c', 3, {'t1', 't2', 't3'}, {'a', 'b'}, 4).sha256)"
    )
    env = os.environ | {"PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "TZ": "Pacific/Apia"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == make_schedule("c", 3, ["t3", "t1", "t2"], ["b", "a"], 4).sha256


def test_a_number_that_would_favour_small_results_is_passed_over():
    """2**64 is 1 modulo 3: the last number of 64 bits is one too many."""
    assert _below(3, iter([2**64 - 1, 5])) == 2
    assert _below(3, iter([2**64 - 2, 5])) == (2**64 - 2) % 3
    assert _below(4, iter([2**64 - 1])) == 3


# --- what holds for any schedule --------------------------------------------------------------------------------------
@given(NAMES, NAMES, st.integers(1, 4), SEEDS)
def test_every_cell_is_there_exactly_as_often_as_asked(tasks: Any, candidates: Any, repetitions: int, seed: int):
    made = make_schedule("c", seed, tasks, candidates, repetitions)

    cells = Counter((entry.task, entry.candidate, entry.repetition) for entry in made.entries)
    assert cells == Counter(itertools.product(tasks, candidates, range(1, repetitions + 1)))
    assert [entry.index for entry in made.entries] == list(range(1, len(made.entries) + 1))
    assert len({entry.run for entry in made.entries}) == len(made.entries)


@given(NAMES, NAMES, st.integers(1, 4), SEEDS)
def test_every_block_is_together_and_has_every_candidate(tasks: Any, candidates: Any, repetitions: int, seed: int):
    made = make_schedule("c", seed, tasks, candidates, repetitions)

    assert len(made.blocks) == len(tasks) * repetitions
    for block in made.blocks:
        assert {entry.candidate for entry in block} == set(candidates)
        assert len({(entry.block, entry.task, entry.repetition) for entry in block}) == 1
    assert len({block[0].block for block in made.blocks}) == len(made.blocks)


@given(NAMES, st.integers(1, 4), SEEDS)
def test_every_repetition_visits_every_task_before_the_next_begins(tasks: Any, repetitions: int, seed: int):
    made = make_schedule("c", seed, tasks, ["a", "b"], repetitions)
    order = [block[0].repetition for block in made.blocks]
    assert order == sorted(order)


@given(NAMES, NAMES, SEEDS, st.randoms(use_true_random=False))
def test_the_order_in_which_names_are_written_does_not_matter(tasks: Any, candidates: Any, seed: int, random: Any):
    before = make_schedule("c", seed, tasks, candidates, 2)
    random.shuffle(tasks)
    random.shuffle(candidates)
    assert make_schedule("c", seed, tasks, candidates, 2).to_bytes() == before.to_bytes()


@given(NAMES, SEEDS)
def test_more_repetitions_leave_the_earlier_ones_alone(tasks: Any, seed: int):
    short, long = (make_schedule("c", seed, tasks, ["a", "b"], repetitions) for repetitions in (2, 3))
    assert long.entries[: len(short.entries)] == short.entries


def chi_square(counts: Counter[Any], cells: int) -> float:
    expected = counts.total() / cells
    return sum((count - expected) ** 2 / expected for count in counts.values()) + expected * (cells - len(counts))


@pytest.mark.parametrize(("items", "critical"), [("ab", 15.1), ("abc", 25.7), ("abcd", 58.6)])
def test_every_permutation_is_equally_likely(items: str, critical: float):
    """Chi-square over 12,000 seeds; `critical` is its 0.9999 quantile with n!-1 degrees of freedom."""
    found = Counter("".join(shuffled(items, seed, "tasks/1")) for seed in range(12000))
    cells = len(list(itertools.permutations(items)))
    assert len(found) == cells
    assert chi_square(found, cells) < critical


def test_the_orders_of_neighbouring_blocks_are_independent():
    """The pair of orders in two blocks of one schedule takes all four values equally often; 21.1 is chi-square's
    0.9999 quantile with three degrees of freedom."""
    pairs: Counter[Any] = Counter()
    for seed in range(4000):
        blocks = make_schedule("c", seed, ["t"], ["a", "b"], 2).blocks
        pairs[blocks[0][0].candidate, blocks[1][0].candidate] += 1
    assert chi_square(pairs, 4) < 21.1


def test_each_candidate_goes_first_about_as_often():
    made = make_schedule("c", 5, [f"t{n}" for n in range(100)], ["a", "b"], 20)
    first = Counter(block[0].candidate for block in made.blocks)
    assert abs(first["a"] - 1000) < 4 * (2000 * 0.25) ** 0.5


# --- names ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("length", [1, 40, 41, 63, 253])
def test_names_of_runs_and_blocks_fit(length: int):
    run, block = run_name("c" * length, 20000), block_name("t" * min(length, 63), 1000)
    assert len(replacement_name(run, 100)) <= names.RUN_NAME_MAX
    assert len(block) <= names.NAME_MAX
    assert run.endswith("-20000")


def test_long_names_stay_apart():
    assert run_name("c" * 62 + "a", 1) != run_name("c" * 62 + "b", 1)
    assert block_name("t" * 62 + "a", 1) != block_name("t" * 62 + "b", 1)
    assert block_name("a", 12) != block_name("a-0012", 1)


@given(st.from_regex(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True), st.integers(12, 63))
def test_a_shortened_name_is_a_name(name: str, limit: int):
    made = shortened(name, limit)
    assert len(made) <= limit
    assert made == name or made.endswith(hashlib.sha256(name.encode()).hexdigest()[:8])
    assert "--" not in made.replace(name[: limit - 9], "") or "--" in name


# --- bad input --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("change", "field"), [
    ({"seed": 1.5}, "schedule.seed"),
    ({"seed": "1"}, "schedule.seed"),
    ({"seed": True}, "schedule.seed"),
    ({"tasks": ["t", "t"]}, "tasks"),
    ({"candidates": ["a", "a"]}, "candidates"),
    ({"algorithm": "random"}, "schedule.algorithm"),
    ({"repetitions": 10**30}, "schedule"),
])  # fmt: skip
def test_what_makes_no_schedule_is_refused_with_its_field(change: dict[str, Any], field: str):
    good: dict[str, Any] = {"cohort": "c", "seed": 1, "tasks": ["t"], "candidates": ["a"], "repetitions": 1}
    with pytest.raises(InvalidInput, match=f"^{field}:"):
        make_schedule(**good | change)


def test_a_schedule_of_20000_runs_has_unique_names_and_a_moderate_size():
    made = make_schedule("c" * 63, 1, [f"t{n}" for n in range(250)], [f"a{n}" for n in range(16)], 5)
    assert len(made.by_run) == 20000
    assert len(made.to_bytes()) < 5_000_000


def test_the_bytes_are_the_document():
    made = make_schedule("c", 1, ["t"], ["a"], 1)
    assert json.loads(made.to_bytes()) == {
        "schemaVersion": 1,
        "algorithm": "sha256-blocks-v1",
        "cohort": "c",
        "seed": 1,
        "tasks": ["t"],
        "candidates": ["a"],
        "repetitions": 1,
        "entries": [{"index": 1, "run": "c-00001", "block": "t-0001", "task": "t", "candidate": "a", "repetition": 1}],
    }
    assert isinstance(made, Schedule)
