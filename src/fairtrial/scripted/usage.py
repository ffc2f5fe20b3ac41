"""What an answer is said to cost.

A script may declare every number. What it leaves out is counted by one fixed rule, the same for each wire, so that a
test can compute it: all input is uncached, a token is four bytes of request or four characters of answer, rounded up.
"""

from dataclasses import dataclass

from fairtrial.scripted.script import Usage

BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Counts:
    """Tokens of one answer. Nothing overlaps, except that `output` includes `reasoning`."""

    uncached_input: int
    cached_input: int
    cache_write: int
    output: int
    reasoning: int

    @property
    def input(self) -> int:
        """All input, however it was come by: what OpenAI and Gemini call the prompt."""
        return self.uncached_input + self.cached_input + self.cache_write


def tokens(length: int) -> int:
    """Tokens in so many bytes or characters."""
    return -(-length // BYTES_PER_TOKEN)


def counts(declared: Usage, general: Usage, request_bytes: int, answer_characters: int) -> Counts:
    """What the step declares, else what the script declares, else the rule."""

    def of(name: str, rule: int) -> int:
        value = getattr(declared, name)
        value = getattr(general, name) if value is None else value
        return rule if value is None else int(value)

    reasoning = of("reasoning", 0)
    return Counts(
        uncached_input=of("uncached_input", tokens(request_bytes)),
        cached_input=of("cached_input", 0),
        cache_write=of("cache_write", 0),
        output=max(of("output", tokens(answer_characters) + reasoning), reasoning),
        reasoning=reasoning,
    )
