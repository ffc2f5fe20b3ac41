"""Due days, reminders and invoices of whoever began at a month's end, over more than a year."""

from datetime import date, timedelta
from itertools import islice

import pytest
from billing.invoices import invoices
from billing.plan import Subscription, due_days, next_due
from billing.reminders import reminders

DAYS = {
    "31-jan": (date(2025, 1, 31), [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28]),
    "30-jan": (date(2025, 1, 30), [30, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 28]),
    "28-feb": (date(2025, 2, 28), [28] * 14),
    "leap": (date(2024, 2, 29), [29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 28, 29]),
    "30-apr": (date(2025, 4, 30), [30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 28, 30, 30, 30]),
    "12-jan": (date(2025, 1, 12), [12] * 14),
}


@pytest.fixture(params=DAYS)
def case(request):
    began, days = DAYS[request.param]
    months = [divmod(began.year * 12 + began.month - 1 + n, 12) for n in range(len(days))]
    return Subscription("S", began, 500), [date(y, m + 1, d) for (y, m), d in zip(months, days, strict=True)]


def each_day(days):
    return (days[0] + timedelta(days=n) for n in range((days[-1] - days[0]).days + 1))


def test_due_days(case):
    subscription, days = case
    assert list(islice(due_days(subscription), len(days))) == days


def test_next_due(case):
    subscription, days = case
    for before, day in zip(days, days[1:], strict=False):
        assert next_due(subscription, before + timedelta(days=1)) == day


def test_reminded_on_three_days_before_and_no_other(case):
    subscription, days = case
    reminded = [day for day in each_day(days) if reminders([subscription], day)]
    assert reminded == [day - timedelta(days=3) for day in days[1:]]


def test_invoiced_on_the_day_with_the_number(case):
    subscription, days = case
    found = [invoice for day in each_day(days) for invoice in invoices([subscription], day)]
    assert [(invoice.due, invoice.number) for invoice in found] == list(zip(days, range(1, len(days) + 1), strict=True))


def test_the_text_of_a_reminder():
    ada = Subscription("Ada", date(2025, 1, 31), 990)
    ben = Subscription("Ben", date(2025, 1, 30), 990)
    assert reminders([ada], date(2025, 3, 28)) == ["Ada: 9.90 is due at the end of the month"]
    assert reminders([ada, ben], date(2025, 3, 27)) == ["Ben: 9.90 is due on 30 March"]
