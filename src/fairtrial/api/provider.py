"""`ModelProvider`: where the gateway forwards model calls to, which model is pinned, and what a token costs."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial import names
from fairtrial.api.base import Line, Model, ObjectMeta, ObjectName, Word, immutable, matching, named
from fairtrial.usage import money

DecimalText = Annotated[
    str,
    Field(max_length=32),
    matching(
        r"[0-9]{1,12}(?:\.[0-9]{1,12})?",
        'an amount of money must be a decimal number in quotes, such as "0.25"; binary floating point would round it.',
    ),
]


class SecretKeyRef(Model):
    """One key of a Secret."""

    name: ObjectName
    """Name of the Secret, in the same namespace; only the gateway reads it."""
    key: Annotated[str, Field(min_length=1, max_length=253)]
    """Key in the Secret that holds the credential."""


class PinnedModel(Model):
    """The one model that calls may name."""

    id: Annotated[str, Field(min_length=1, max_length=256)]
    """Exact identifier of the model; a call that names another is refused."""
    parameters: Annotated[dict[Word, Line], Field(max_length=32)] = Field(default_factory=dict)
    """Parameters that calls must agree with, such as temperature or reasoning effort; values are text."""


class UsageSemantics(Model):
    """How the provider counts; declared, never guessed."""

    cached_inside_input: Annotated[bool, Field(strict=True)]
    """Whether the provider's input count already holds the cached tokens."""
    reasoning_inside_output: Annotated[bool, Field(strict=True)]
    """Whether the provider's output count already holds the reasoning tokens."""
    details_left_out_when_zero: Annotated[bool, Field(strict=True)] = False
    """Whether the provider leaves cached, cache write and reasoning counts out where they are zero, as Gemini does."""


class Prices(Model):
    """Prices of a million tokens, as decimal numbers in quotes. What is left out is unknown, not free."""

    input: DecimalText | None = None
    """Input that no cache held."""
    cached_input: DecimalText | None = None
    """Input read from the provider's cache."""
    cache_write: DecimalText | None = None
    """Input written to the provider's cache."""
    output: DecimalText | None = None
    """Output."""
    reasoning: DecimalText | None = None
    """Reasoning, where it has a price of its own."""


class Pricing(Model):
    """A versioned snapshot of prices."""

    snapshot: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of this snapshot; kept in every record whose cost it made."""
    currency: Annotated[str, Field(max_length=3), matching("[A-Z]{3}", "currency must be three letters, such as USD.")]
    """Currency, such as USD."""
    effective_date: Annotated[
        str,
        Field(max_length=10),
        matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "effectiveDate must be a date such as 2026-01-31."),
    ]
    """Day from which the prices hold."""
    service_tier: Word = ""
    """Service tier that the prices are for."""
    per_million_tokens: Prices
    """Prices of a million tokens."""

    def prices_of(self, provider: str, model: str) -> money.Snapshot:
        """The prices in the form that money is counted in."""
        prices = self.per_million_tokens
        return money.Snapshot(
            snapshot=self.snapshot,
            provider=provider,
            model=model,
            currency=self.currency,
            effective_date=self.effective_date,
            service_tier=self.service_tier,
            input=prices.input,
            cached_input=prices.cached_input,
            cache_write=prices.cache_write,
            output=prices.output,
            reasoning=prices.reasoning,
        )


class ModelProviderSpec(Model):
    """Upstream, credential, pinned model, usage semantics, prices and caps."""

    url: Annotated[
        str,
        Field(max_length=1024),
        matching(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", "url must be http(s)://host[:port][/path] without credentials."),
    ]
    """Base address of the provider, without /v1: calls bring their own path."""
    http_version: Literal["1.1", "2"] = "1.1"
    """HTTP version that the provider is spoken to in."""
    wire: Literal["anthropicMessages", "openaiChat", "openaiResponses", "gemini"]
    """Wire protocol that the provider speaks."""
    credential_secret_ref: SecretKeyRef
    """The Secret with the credential."""
    model: PinnedModel
    """The one model that calls may name."""
    usage: UsageSemantics
    """How the provider counts tokens."""
    pricing: Pricing | None = None
    """Prices; without them cost is unavailable, never zero."""
    max_concurrency: Annotated[int, Field(strict=True, ge=1, le=10000)] = 16
    """Calls that may be under way at once, over all runs."""
    requests_per_minute: Annotated[int, Field(strict=True, ge=1, le=1000000)] = 600
    """Calls that may start in a minute, over all runs."""


# What a recorded call was priced, pinned and counted by can't change under it; a new price is a new provider object.
ModelProviderSpec.rules = immutable(
    ModelProviderSpec, besides=("credential_secret_ref", "max_concurrency", "requests_per_minute")
)


class ModelProvider(Model):
    """A model provider that agents reach through the gateway, with the pinned model and a snapshot of prices."""

    rules = named(names.NAME_MAX, "because labels hold no more")

    api_version: Literal["fairtrial.dev/v1alpha1"] = "fairtrial.dev/v1alpha1"
    kind: Literal["ModelProvider"] = "ModelProvider"
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ModelProviderSpec
    """Upstream, credential, pinned model, usage semantics, prices and caps."""
