"""`refusals/GATEWAY/TIME.json`: what a gateway refused without a journal, counted over a short time.

Nothing that a caller chose is in it but what was proven of it; no path, no header, no token.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RefusedCalls:
    """One kind of refusal of one caller. Pod and run are what a token was proven to be of; empty if it was not."""

    cause: str
    status: int
    peer: str  # address of the connection's other end
    namespace: str
    pod: str
    pod_uid: str
    run: str
    count: int
    first: str
    last: str


@dataclass(frozen=True)
class RefusalPage:
    """What was refused between two times; of more than can be listed only the numbers, by cause."""

    gateway: str
    since: str
    until: str
    refused: list[RefusedCalls]
    not_listed: dict[str, int] = field(default_factory=dict)
    schema_version: int = 1
