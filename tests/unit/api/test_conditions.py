"""Conditions change only when something changes."""

from fairtrial.api import condition, find_condition, is_true, set_condition
from fairtrial.api.conditions import ACCEPTED, EVALUATED, Reason

NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:10:00Z"


def accepted(status="True", reason=Reason.RESOLVED, *, generation=1, now=NOON, message=""):
    return condition(ACCEPTED, status, reason, message, generation=generation, now=now)


def test_a_new_condition_is_added_at_the_end():
    first = set_condition((), accepted())
    both = set_condition(first, condition(EVALUATED, "Unknown", Reason.PENDING, generation=1, now=NOON))
    assert [one.type for one in both] == [ACCEPTED, EVALUATED]


def test_the_transition_time_stays_while_the_status_does():
    before = set_condition((), accepted("False", Reason.TASK_NOT_FOUND))

    after = set_condition(before, accepted("False", Reason.DIGEST_MISMATCH, now=LATER, generation=2))

    found = find_condition(after, ACCEPTED)
    assert found is not None
    assert (found.reason, found.observed_generation) == (Reason.DIGEST_MISMATCH, 2)
    assert found.last_transition_time == NOON


def test_the_transition_time_moves_with_the_status():
    before = set_condition((), accepted("False", Reason.TASK_NOT_FOUND))

    after = set_condition(before, accepted(now=LATER))

    found = find_condition(after, ACCEPTED)
    assert found is not None
    assert found.last_transition_time == LATER
    assert is_true(after, ACCEPTED)


def test_setting_the_same_again_gives_the_very_same_conditions():
    before = set_condition((), accepted())
    assert set_condition(before, accepted(now=LATER)) is before


def test_an_unset_condition_is_not_true():
    assert not is_true((), ACCEPTED)
    assert not is_true((accepted("Unknown", Reason.PENDING),), ACCEPTED)


def test_every_reason_is_one_camel_case_word():
    reasons = [value for name, value in vars(Reason).items() if name.isupper()]
    assert len(reasons) > 20
    assert len(set(reasons)) == len(reasons)
    assert all(accepted(reason=reason).reason == reason for reason in reasons)


def test_a_long_message_is_cut_to_what_the_api_server_takes():
    assert len(accepted(message="x" * 10000).message) == 8192
