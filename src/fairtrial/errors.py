"""The whole error tree. An error names its cause and the next move; fields carry the facts, `str()` the sentence.

Errors of libraries are translated where the library is called, so a caller catches `FairtrialError` or one of ours.
"""


class FairtrialError(Exception):
    """Any failure that this system explains. `reason` is a stable CamelCase word, `next_move` what to do about it."""

    reason = "Error"

    def __init__(self, message: str, *, next_move: str = "") -> None:
        self.message = message
        self.next_move = next_move
        super().__init__(f"{message} {next_move}".strip())


class InvalidInput(FairtrialError):
    """Something that a person wrote is wrong. The message starts with the file and field that it is about."""

    reason = "InvalidInput"


class UnsafeArchive(FairtrialError):
    """An archive would write outside its folder or holds something that is neither file, folder nor safe link."""

    reason = "UnsafeArchive"


class DigestMismatch(FairtrialError):
    """Content differs from the digest it was asked for by. Never repaired: the content or the reference is wrong."""

    reason = "DigestMismatch"

    def __init__(self, what: str, expected: str, actual: str) -> None:
        self.what, self.expected, self.actual = what, expected, actual
        super().__init__(
            f"{what} has SHA-256 {actual}, expected {expected}.",
            next_move="Push the task again, or name the digest of what is stored.",
        )


class StoreError(FairtrialError):
    """The object store refused or could not be reached."""

    reason = "StoreError"


class StoreUnavailable(StoreError):
    """The store did not answer, or answered that it cannot now. Trying again may help."""

    reason = "StoreUnavailable"


class NotStored(StoreError):
    """There is no object under this key."""

    reason = "NotStored"


class Conflict(StoreError):
    """Another, different object already lies under a key that may be written once."""

    reason = "Conflict"

    def __init__(self, key: str, ours: str, theirs: str) -> None:
        self.key, self.ours, self.theirs = key, ours, theirs
        super().__init__(
            f"{key} already holds SHA-256 {theirs}, which is not ours ({ours}).",
            next_move="Nothing was overwritten; compare both before anything else.",
        )


class StoreUnfit(StoreError):
    """The store lacks a behaviour that evidence depends on, such as conditional writes."""

    reason = "StoreUnfit"


class GatewayRefused(FairtrialError):
    """The gateway answered a pod's request with a final refusal (a 4xx that trying again does not change)."""

    reason = "GatewayRefused"

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(f"The gateway answered {status}: {message}")


class GatewayUnavailable(FairtrialError):
    """The gateway could not be reached, or asked for patience, until the deadline."""

    reason = "GatewayUnavailable"


class ChannelBroken(FairtrialError):
    """The other side of a pod's channel is gone, or sent what is not a frame. Nothing on it can be trusted any more."""

    reason = "ChannelBroken"


class Unproven(FairtrialError):
    """What is signed, hashed or stamped does not show what it should. `code` is a stable word, such as SIG_INVALID."""

    reason = "Unproven"

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class SigningFailed(FairtrialError):
    """A key can't be used, or a time-stamp authority did not answer with a token."""

    reason = "SigningFailed"
