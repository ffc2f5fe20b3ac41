"""Gift cards in a cart."""

from shop.catalogue import Line, Product
from shop.checkout import Quote, place, quote
from shop.coupons import PercentCoupon
from shop.giftcards import GiftCard

BOOK, VOUCHER = Product("book", 2000), Product("voucher", 5000, "giftcard")


def test_only_the_book_is_discounted_and_paid_for_by_card():
    card = GiftCard("G", 9000)
    expected = Quote(7000, 200, 1800, 5000)
    assert quote((Line(BOOK), Line(VOUCHER)), PercentCoupon(10), card) == expected
    assert place((Line(BOOK), Line(VOUCHER)), PercentCoupon(10), card) == expected
    assert card.balance == 7200
