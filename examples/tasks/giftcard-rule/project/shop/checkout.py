"""The price of a cart, and the order."""

from dataclasses import dataclass

from shop.catalogue import Cart, total
from shop.coupons import Coupon, discount
from shop.giftcards import GiftCard


@dataclass(frozen=True)
class Quote:
    """What a cart costs and who pays it: total = discount + by_card + cash."""

    total: int
    discount: int
    by_card: int
    cash: int


def quote(cart: Cart, coupon: Coupon | None = None, card: GiftCard | None = None) -> Quote:
    """What a cart would cost now."""
    price = total(cart)
    off = discount(cart, coupon)
    by_card = card.covers(price - off) if card else 0
    return Quote(price, off, by_card, price - off - by_card)


def place(cart: Cart, coupon: Coupon | None = None, card: GiftCard | None = None) -> Quote:
    """Order a cart: charges the gift card."""
    price = total(cart)
    off = discount(cart, coupon)
    due = price - off
    paid = 0
    if card and due:
        paid = card.covers(due)
        card.charge(paid)
    return Quote(price, off, paid, due - paid)
