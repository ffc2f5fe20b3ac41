"""What `standing` says below, at and above zero."""

import pytest
from bank.account import standing


@pytest.mark.parametrize("cents", [-1, -250])
def test_negative_balance(cents):
    assert standing(cents) == "overdrawn"


def test_zero_balance():
    assert standing(0) == "even"


@pytest.mark.parametrize("cents", [1, 99, 100000])
def test_positive_balance(cents):
    assert standing(cents) == "in credit"
