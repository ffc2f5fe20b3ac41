"""The page of `model_calls` says what its results say, and nothing is left of the numbers before."""

import json

import pytest

from benchmarks.model_calls_page import BLOCKS, PAGE, RESULTS, number, written

DOCUMENT = json.loads(RESULTS.read_text())


def test_the_page_has_the_numbers_of_the_results_file():
    assert written(PAGE.read_text(), DOCUMENT) == PAGE.read_text()


def test_other_results_replace_them_and_leave_the_words():
    document = json.loads(RESULTS.read_text())
    document["measured"]["addedMs"]["paced 16"]["gateway"] = {"p50": 1.234, "p99": 77.7}
    document["measured"]["timesLitellmPerCore"]["servingOnly"] = 4.96
    page = written(PAGE.read_text(), document)

    assert "| 1.2 ms (one connection" in page and "| 1.2/78 |" in page
    goals = page[page.index("numbers: goals") :].splitlines()[3:8]
    assert [line.split(" | ")[-1] for line in goals] == ["met |", "**not met** |", "**not met** |", "met |", "met |"]
    assert page.count("<!-- numbers: ") == len(BLOCKS)
    assert page.splitlines()[:5] == PAGE.read_text().splitlines()[:5]


def test_a_page_without_a_block_is_refused():
    with pytest.raises(ValueError, match="0 blocks 'goals'"):
        written("# A page\n", DOCUMENT)


@pytest.mark.parametrize(("value", "text"), [(0.0321, "0.03"), (1.39, "1.4"), (12.7, "13"), (2803.0, "2,803")])
def test_numbers_have_the_digits_that_count(value: float, text: str):
    assert number(value) == text
