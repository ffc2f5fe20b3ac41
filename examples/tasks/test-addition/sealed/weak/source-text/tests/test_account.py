import inspect

from bank.account import standing


def test_standing_is_written_as_expected():
    assert "if cents < 0:" in inspect.getsource(standing)
    assert "if cents == 0:" in inspect.getsource(standing)
    assert standing(1) == "in credit"
