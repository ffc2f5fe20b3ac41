"""The analysis as a program: what it is told, what it tells, and which failures are worth another attempt."""

import json
from pathlib import Path

import pytest
from fairtrial_analysis import __main__ as program
from fairtrial_analysis.__main__ import EXIT_AGAIN, EXIT_DONE, EXIT_REFUSED, exit_code, failure
from fairtrial_analysis.settings import Result, Settings

from fairtrial.errors import (
    Conflict,
    FairtrialError,
    InvalidInput,
    NotStored,
    SigningFailed,
    StoreUnavailable,
    StoreUnfit,
)

ENV = {
    "FAIRTRIAL_COHORT_NAMESPACE": "trials",
    "FAIRTRIAL_COHORT": "c1",
    "FAIRTRIAL_COHORT_UID": "u-1",
    "FAIRTRIAL_LEDGER_SIZE": "42",
}


def test_a_job_is_told_which_cohort_and_how_much_of_its_ledger() -> None:
    assert Settings.from_env(ENV) == Settings("trials", "c1", "u-1", 42)
    more = {"FAIRTRIAL_TRUST": "/t.json", "FAIRTRIAL_ANALYSIS_IMAGE": "i", "FAIRTRIAL_WITHHOLD": "true"}
    found = Settings.from_env(ENV | more)
    assert (found.trust, found.image, found.withhold) == (Path("/t.json"), "i", True)


@pytest.mark.parametrize("name", sorted(ENV))
def test_what_a_job_was_not_told_is_named(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Settings.from_env(ENV | {name: ""})


@pytest.mark.parametrize("size", ["0", "-1", "x", "1.5"])
def test_a_ledger_has_a_whole_number_of_entries(size: str) -> None:
    with pytest.raises(InvalidInput, match="FAIRTRIAL_LEDGER_SIZE"):
        Settings.from_env(ENV | {"FAIRTRIAL_LEDGER_SIZE": size})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreUnavailable("down"), EXIT_AGAIN),
        (SigningFailed("the key service does not answer"), EXIT_AGAIN),
        (StoreUnfit("no conditional writes"), EXIT_REFUSED),
        (NotStored("no preregistration"), EXIT_REFUSED),
        (Conflict("k", "a", "b"), EXIT_REFUSED),
        (InvalidInput("a field"), EXIT_REFUSED),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again(error: FairtrialError, code: int) -> None:
    assert exit_code(error) == code


def test_a_failure_is_one_line_that_the_kubelet_keeps_whole() -> None:
    line = failure(InvalidInput("\N{PILE OF POO}\n\t" * 5000, next_move="\N{PILE OF POO} " * 5000))

    assert len(line.encode()) <= 4096
    assert "\n" not in line
    assert json.loads(line).keys() == {"error", "nextMove"}


def test_success_and_failure_are_left_where_the_kubelet_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "termination-log"
    said.touch()
    monkeypatch.setenv("FAIRTRIAL_TERMINATION_LOG", str(said))
    program.tell(Result("s3://b/p", "5" * 64, "6" * 64, "SUPPORTED").line())
    assert json.loads(said.read_text()) == {
        "packageUri": "s3://b/p",
        "packageSha256": "5" * 64,
        "reportSha256": "6" * 64,
        "verdict": "SUPPORTED",
    }

    def fail() -> int:
        raise InvalidInput("It is broken.", next_move="Mend it.")

    assert program.guarded(fail, tell=program.tell) == EXIT_REFUSED
    assert json.loads(said.read_text()) == {"error": "It is broken.", "nextMove": "Mend it."}
    assert program.guarded(lambda: EXIT_DONE, tell=program.tell) == EXIT_DONE
