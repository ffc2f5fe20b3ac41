"""Days and months."""

from calendar import monthrange
from datetime import date


def last_day(year: int, month: int) -> int:
    """How many days a month has."""
    return monthrange(year, month)[1]


def add_months(day: date, months: int) -> date:
    """The same day so many months later; the month's last day where it has no such day."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    return date(year, month + 1, min(day.day, last_day(year, month + 1)))
