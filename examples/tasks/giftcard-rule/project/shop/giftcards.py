"""What a gift card pays."""

from dataclasses import dataclass


@dataclass
class GiftCard:
    """A balance that goes down."""

    code: str
    balance: int

    def covers(self, due: int) -> int:
        """How much of what is due this card can pay."""
        return min(self.balance, due)

    def charge(self, amount: int) -> None:
        """Pay from this card; `ValueError` if there is not enough on it."""
        if amount > self.balance:
            raise ValueError(f"{self.code} has only {self.balance}")
        self.balance -= amount
