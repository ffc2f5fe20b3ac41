"""Subscribers at the end of a month."""

from datetime import date
from itertools import islice

from billing.plan import Subscription, due_days


def test_a_short_month_shortens_no_other():
    ada = Subscription("Ada", date(2025, 1, 31), 990)
    assert [day.day for day in islice(due_days(ada), 5)] == [31, 28, 31, 30, 31]
