"""What can go wrong with a file."""


class MigrationError(Exception):
    """A file can't be brought up to date; it is as it was."""

    def __init__(self, message: str, order_id: int | None = None) -> None:
        super().__init__(message)
        self.order_id = order_id
