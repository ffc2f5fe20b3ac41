from bank.account import standing


def test_standing():
    assert standing(100) == "in credit"


def test_standing_is_text():
    assert isinstance(standing(-1), str)
    assert isinstance(standing(0), str)
