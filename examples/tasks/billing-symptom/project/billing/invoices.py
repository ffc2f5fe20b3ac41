"""What is invoiced today."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import takewhile

from billing.plan import Subscription, due_days, next_due


@dataclass(frozen=True)
class Invoice:
    """So much for one month."""

    subscriber: str
    due: date
    number: int  # 1 for a subscription's first
    cents: int


def invoices(subscriptions: Iterable[Subscription], today: date) -> list[Invoice]:
    """An invoice for each subscription that is due today."""
    return [_invoice(one, today) for one in subscriptions if today >= one.began and next_due(one, today) == today]


def _invoice(subscription: Subscription, today: date) -> Invoice:
    earlier = sum(1 for _ in takewhile(lambda day: day < today, due_days(subscription)))
    return Invoice(subscription.subscriber, today, earlier + 1, subscription.cents)
