"""Who calls, for which run, and what its provider is: all that a call is decided by."""

from dataclasses import dataclass, field
from decimal import Decimal

from fairtrial.api.provider import ModelProviderSpec
from fairtrial.documents import RunIdentity
from fairtrial.journal.exchange import TOOL
from fairtrial.secrets.scan import SECRET_MIN
from fairtrial.usage.counters import Semantics


@dataclass(frozen=True)
class Budget:
    """What a run may spend on model calls; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self != Budget()


@dataclass(frozen=True)
class Provider:
    """A model provider with its credential, which is never shown."""

    namespace: str
    name: str
    uid: str
    spec: ModelProviderSpec
    credential: str = field(repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """By what its caps are counted."""
        return self.namespace, self.name

    @property
    def wire(self) -> str:
        """The wire that it speaks."""
        return self.spec.wire

    @property
    def semantics(self) -> Semantics:
        """How it counts."""
        usage = self.spec.usage
        return Semantics(usage.cached_inside_input, usage.reasoning_inside_output, usage.details_left_out_when_zero)

    @property
    def secrets(self) -> dict[str, bytes] | None:
        """What must not be found in a journal; None for a credential that is too short to be told from chance."""
        secret = self.credential.strip().encode()
        return {"provider-credential": secret} if len(secret) >= SECRET_MIN else None


class Uncounted:
    """A peer that counts no tokens and is given no credential."""

    @property
    def semantics(self) -> Semantics:
        """There is nothing to count."""
        return Semantics(cached_inside_input=False, reasoning_inside_output=False)

    @property
    def secrets(self) -> dict[str, bytes] | None:
        """There is nothing to look for."""
        return {}


@dataclass(frozen=True)
class ToolServer(Uncounted):
    """An HTTP server that a task allows its agents to use."""

    name: str
    url: str
    wire: str = TOOL


@dataclass(frozen=True)
class Unusable(Uncounted):
    """A provider that could not be read, or has no credential: all that is known is its name."""

    name: str
    wire: str


Peer = Provider | ToolServer | Unusable


@dataclass(frozen=True)
class Party:
    """A run whose agent calls, and its provider."""

    run: RunIdentity
    provider: Provider
    cohort: str = ""
    budget: Budget = field(default_factory=Budget)

    @property
    def key(self) -> str:
        """By what its calls are counted."""
        return self.run.uid
