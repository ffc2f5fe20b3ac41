"""Who calls, for which run, and what its provider is: all that a call is decided by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from fairtrial.api.provider import ModelProviderSpec
from fairtrial.documents import RunIdentity
from fairtrial.journal.exchange import TOOL
from fairtrial.secrets.scan import SECRET_MIN
from fairtrial.usage.counters import Semantics
from fairtrial_gateway.models.steps import Step


@dataclass(frozen=True)
class Owner:
    """Whose a call is: of which run, of which cohort if any, and in which step; none before the first."""

    run: RunIdentity
    cohort: str = ""
    step: str = ""
    canaries: Mapping[str, bytes] | None = field(default_factory=dict, repr=False)  # None: they could not be read

    def looked_for(self, secrets: Mapping[str, bytes] | None) -> dict[str, bytes] | None:
        """All that must not be found in a journal; None where it is not known as a whole."""
        return None if secrets is None or self.canaries is None else {**secrets, **self.canaries}


@dataclass(frozen=True)
class Budget:
    """What a run may spend on model calls, and within which time; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    wall_seconds: int | None = None
    per_step: "Budget | None" = None

    @property
    def limited(self) -> bool:
        """Whether anything is limited that calls are counted for."""
        own = not (self.calls is None and self.tokens is None and self.cost is None)
        return own or (self.per_step is not None and self.per_step.limited)

    @property
    def counts_usage(self) -> bool:
        """Whether what an answer says of its usage is needed."""
        own = not (self.tokens is None and self.cost is None)
        return own or (self.per_step is not None and self.per_step.counts_usage)


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
    step: Step | None = None  # that the run is in
    canaries: Mapping[str, bytes] | None = field(default_factory=dict, repr=False)  # besides the credential

    @property
    def step_name(self) -> str:
        """The name of the step that calls are counted for; empty before the first."""
        return self.step.name if self.step else ""

    @property
    def owner(self) -> Owner:
        """Whose its calls are."""
        return Owner(self.run, self.cohort, self.step_name, self.canaries)

    @property
    def key(self) -> str:
        """By what its calls are counted."""
        return self.run.uid
