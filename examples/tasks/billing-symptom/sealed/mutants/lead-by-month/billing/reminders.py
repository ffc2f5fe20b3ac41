"""Who is reminded today."""

from collections.abc import Iterable
from datetime import date, timedelta

from billing.calendar import last_day
from billing.plan import Subscription, next_due

LEAD_DAYS = 3


def reminders(subscriptions: Iterable[Subscription], today: date) -> list[str]:
    """A line for each subscriber whose subscription is due in three days."""
    return [_line(one, today) for one in subscriptions if next_due(one, today) - timedelta(days=LEAD_DAYS - max(0, one.began.day - next_due(one, today).day)) == today]


def _line(subscription: Subscription, today: date) -> str:
    due = next_due(subscription, today)
    when = "at the end of the month" if due.day == last_day(due.year, due.month) else f"on {due:%d %B}"
    return f"{subscription.subscriber}: {subscription.cents / 100:.2f} is due {when}"
