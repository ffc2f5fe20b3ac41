"""A subscriber in the middle of the month."""

from datetime import date

from billing.invoices import invoices
from billing.plan import Subscription
from billing.reminders import reminders

CEM = Subscription("Cem", date(2025, 1, 12), 990)


def test_a_reminder_comes_three_days_before():
    assert reminders([CEM], date(2025, 3, 9)) == ["Cem: 9.90 is due on 12 March"]
    assert reminders([CEM], date(2025, 3, 8)) == reminders([CEM], date(2025, 3, 10)) == []


def test_an_invoice_has_its_number():
    (invoice,) = invoices([CEM], date(2025, 3, 12))
    assert (invoice.number, invoice.cents) == (3, 990)
    assert invoices([CEM], date(2025, 3, 13)) == []
