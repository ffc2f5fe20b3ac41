"""Subscriptions, and the days on which they are due."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from billing.calendar import add_months


@dataclass(frozen=True)
class Subscription:
    """Somebody who pays once a month, from the day that it began."""

    subscriber: str
    began: date
    cents: int


def due_days(subscription: Subscription) -> Iterator[date]:
    """The days on which a subscription is due, without end, from the day that it began."""
    day = subscription.began
    while True:
        yield day
        day = add_months(day, 1)


def next_due(subscription: Subscription, today: date) -> date:
    """The first due day that is not before today."""
    return next(day for day in due_days(subscription) if day >= today)
