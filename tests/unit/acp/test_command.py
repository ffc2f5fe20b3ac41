"""The command line, the deadline it takes over, and the exit codes."""

import datetime as dt

import pytest

from fairtrial.acp.__main__ import left, parser
from fairtrial.acp.session import EXIT_CODES, End

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def test_what_comes_after_the_dashes_is_the_agents() -> None:
    wanted = parser().parse_args(["--permissions", "reject", "--", "agent", "--acp", "--permissions", "x"])

    assert (wanted.permissions, wanted.argv) == ("reject", ["agent", "--acp", "--permissions", "x"])


@pytest.mark.parametrize("arguments", [[], ["--"], ["--permissions", "ask", "--", "a"], ["--seconds", "0", "--", "a"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as found:
        parser().parse_args(arguments)

    assert found.value.code == 2
    assert "fairtrial-acp: error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("deadline", "seconds"),
    [("2026-01-01T12:01:00Z", 62.0), ("2026-01-01T11:00:00Z", 2.0), ("soon", None), ("2026-01-01T12:01:00", None)],
)
def test_a_step_ends_at_its_deadline_by_whoever_set_it_before_the_client_does(
    deadline: str, seconds: float | None
) -> None:
    assert left({"FAIRTRIAL_DEADLINE": deadline}, NOON) == seconds
    assert left({}, NOON) is None


def test_every_end_has_an_exit_code_of_its_own_and_only_a_good_one_has_0() -> None:
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert [reason for reason, code in EXIT_CODES.items() if code == 0] == ["end_turn"]
    assert 2 not in EXIT_CODES.values(), "that is wrong usage"
    assert End("signal", number=15).exit_code == 143
