"""Carts without anything special in them."""

from shop.catalogue import Line, Product
from shop.checkout import Quote, place, quote
from shop.coupons import AmountCoupon, PercentCoupon
from shop.giftcards import GiftCard

BOOK, TALK = Product("book", 1999), Product("talk", 5000, "service")


def test_a_plain_cart():
    assert quote((Line(BOOK, 2), Line(TALK))) == Quote(8998, 0, 0, 8998)


def test_coupons():
    assert quote((Line(BOOK),), PercentCoupon(10)).discount == 199
    assert quote((Line(BOOK),), AmountCoupon(5000)) == Quote(1999, 1999, 0, 0)
    assert quote((Line(BOOK),), AmountCoupon(500, minimum=2000)).discount == 0


def test_an_order_charges_the_card():
    card = GiftCard("G", 1500)
    assert place((Line(BOOK),), card=card) == Quote(1999, 0, 1500, 499)
    assert card.balance == 0
