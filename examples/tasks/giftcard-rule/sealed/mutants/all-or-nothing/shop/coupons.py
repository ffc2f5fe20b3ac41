"""What a coupon takes off."""

from dataclasses import dataclass

from shop.catalogue import Cart, total


@dataclass(frozen=True)
class PercentCoupon:
    """So much percent off."""

    percent: int
    minimum: int = 0


@dataclass(frozen=True)
class AmountCoupon:
    """So many cents off."""

    amount: int
    minimum: int = 0


Coupon = PercentCoupon | AmountCoupon


def discount(cart: Cart, coupon: Coupon | None) -> int:
    """What a coupon takes off the price of a cart."""
    if any(line.product.kind == "giftcard" for line in cart):
        return 0
    if coupon is None or total(cart) < coupon.minimum:
        return 0
    if isinstance(coupon, PercentCoupon):
        return total(cart) * coupon.percent // 100
    return min(coupon.amount, total(cart))
