"""Turns at a provider: caps hold, and no run waits for another's crowd."""

import random

from fairtrial_gateway.models.fairness import Turns


def starts(turns: Turns[str], now: float) -> list[str]:
    found = []
    while (ticket := turns.next(now)) is not None:
        found.append(ticket)
    return found


def test_runs_take_turns_whatever_each_has_waiting():
    turns: Turns[str] = Turns(100, 1000, 100)
    for ticket in ("a1", "a2", "a3", "b1", "c1", "c2"):
        turns.enter(ticket[0], ticket)

    assert starts(turns, 0) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_run_that_was_served_goes_behind_those_that_wait():
    turns: Turns[str] = Turns(1, 1000, 100)
    turns.enter("a", "a1")
    turns.enter("a", "a2")
    assert starts(turns, 0) == ["a1"]
    turns.enter("b", "b1")
    turns.done("a")

    assert starts(turns, 0) == ["a2"]  # a was alone when it was served; b came later
    turns.enter("a", "a3")
    turns.done("a")
    assert starts(turns, 0) == ["b1"]


def test_no_more_are_under_way_than_allowed_in_all_and_of_one_run():
    turns: Turns[str] = Turns(3, 1000, 2)
    for ticket in ("a1", "a2", "a3", "b1", "b2"):
        turns.enter(ticket[0], ticket)

    assert starts(turns, 0) == ["a1", "b1", "a2"]
    turns.done("b")
    assert starts(turns, 0) == ["b2"]  # a has its two


def test_no_window_of_a_minute_holds_more_starts_than_the_rate():
    turns, now, random_ = Turns[int](1000, 10, 1000), 0.0, random.Random(7)
    times = []
    for number in range(200):
        turns.enter(number % 7, number)
    while turns.waiting:
        times += [now] * len(starts(turns, now))  # type: ignore[arg-type]
        now += random_.uniform(0, 5)

    assert len(times) == 200
    assert all(later - first >= 60 for first, later in zip(times, times[10:], strict=False))


def test_the_rate_says_when_it_opens_and_how_long_to_wait_at_least():
    turns: Turns[str] = Turns(1000, 2, 1000)
    assert turns.rate_opens_at(0) is None
    turns.enter("a", "a1")
    starts(turns, 0)
    turns.enter("a", "a2")
    starts(turns, 10)

    assert turns.rate_opens_at(20) == 60
    assert turns.wait_at_least(20, "a") == 40
    turns.enter("a", "a3")
    assert turns.wait_at_least(20, "a") == 50
    turns.enter("a", "a4")
    assert turns.wait_at_least(20, "a") == 100
    assert turns.rate_opens_at(61) is None


def test_another_runs_crowd_makes_nobody_wait_longer_than_its_turn():
    turns: Turns[str] = Turns(1000, 2, 1000)
    for ticket in ("a1", "a2", "a3", "a4", "a5", "a6", "b1"):
        turns.enter(ticket[0], ticket)
    starts(turns, 0)  # a1 and b1

    assert (turns.ahead("a"), turns.ahead("b"), turns.ahead("c")) == (5, 1, 1)
    assert turns.wait_at_least(20, "b") == 40
    assert turns.wait_at_least(20, "a") == 160
    turns.enter("b", "b2")
    assert (turns.ahead("a"), turns.ahead("b"), turns.ahead("c")) == (6, 3, 2)


def test_who_leaves_does_not_start():
    turns: Turns[str] = Turns(1, 1000, 1)
    for ticket in ("a1", "b1", "c1"):
        turns.enter(ticket[0], ticket)
    starts(turns, 0)
    turns.leave("b", "b1")
    turns.leave("b", "never there")
    turns.done("a")

    assert starts(turns, 0) == ["c1"]
    assert turns.waiting == 0


def test_caps_that_shrink_hold_for_what_is_to_come():
    turns: Turns[str] = Turns(4, 1000, 4)
    for ticket in ("a1", "b1", "c1", "d1"):
        turns.enter(ticket[0], ticket)
    starts(turns, 0)
    turns.concurrency = 2
    turns.enter("e", "e1")
    turns.done("a")
    turns.done("b")

    assert starts(turns, 0) == []
    turns.done("c")
    assert starts(turns, 0) == ["e1"]
