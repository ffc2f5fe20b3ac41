"""Gift cards in a cart, priced and ordered; everything else as before."""

import pytest
from shop.catalogue import Line, Product
from shop.checkout import Quote, place, quote
from shop.coupons import AmountCoupon, PercentCoupon
from shop.giftcards import GiftCard

BOOK, TALK = Product("book", 1999), Product("talk", 5000, "service")
VOUCHER = Product("voucher", 2500, "giftcard")
MIXED = (Line(VOUCHER, 2), Line(BOOK), Line(TALK))


@pytest.fixture(params=[quote, place], ids=["quote", "place"])
def price(request):
    return request.param


def test_percent(price):
    assert price(MIXED, PercentCoupon(10)) == Quote(11999, 699, 0, 11300)


def test_amount(price):
    assert price((Line(VOUCHER), Line(BOOK)), AmountCoupon(3000)) == Quote(4499, 1999, 0, 2500)


def test_minimum_is_of_the_rest(price):
    assert price((Line(VOUCHER), Line(BOOK)), AmountCoupon(500, minimum=2000)).discount == 0
    assert price((Line(VOUCHER), Line(TALK)), AmountCoupon(500, minimum=5000)).discount == 500


def test_card_pays_for_the_rest_only(price):
    card = GiftCard("G", 10000)
    assert price(MIXED, None, card) == Quote(11999, 0, 6999, 5000)
    assert card.balance == (10000 if price is quote else 3001)


def test_card_after_coupon(price):
    assert price((Line(VOUCHER), Line(BOOK)), PercentCoupon(50), GiftCard("G", 10000)) == Quote(4499, 999, 1000, 2500)


def test_nothing_but_gift_cards(price):
    card = GiftCard("G", 10000)
    assert price((Line(VOUCHER),), AmountCoupon(100), card) == Quote(2500, 0, 0, 2500)
    assert card.balance == 10000


def test_without_gift_cards_as_before(price):
    cart = (Line(BOOK, 2), Line(TALK))
    assert price(cart) == Quote(8998, 0, 0, 8998)
    assert price(cart, PercentCoupon(15)) == Quote(8998, 1349, 0, 7649)
    assert price(cart, AmountCoupon(9000)) == Quote(8998, 8998, 0, 0)
    card = GiftCard("G", 3000)
    assert price(cart, AmountCoupon(1000, minimum=8998), card) == Quote(8998, 1000, 3000, 4998)
    assert card.balance == (3000 if price is quote else 0)
