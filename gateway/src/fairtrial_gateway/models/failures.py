"""What can go wrong at the provider's side. Each becomes the ending of an exchange."""

from fairtrial.errors import FairtrialError
from fairtrial.journal.summary import Ending


class ProviderFailure(FairtrialError):
    """The provider gave no answer, or no whole one."""

    ending: Ending = "upstream_cut"
    refusal = ""  # the word for a budget that ended it
    status = 502  # of the gateway's own answer, where the provider's had not begun


class Unreachable(ProviderFailure):
    """No connection, or one that ended before an answer began."""

    reason = "ProviderUnreachable"
    ending = "upstream_unreachable"


class Silent(ProviderFailure):
    """Nothing came for too long."""

    reason = "ProviderSilent"
    ending = "upstream_silent"
    status = 504


class Cut(ProviderFailure):
    """The answer ended before its end."""

    reason = "ProviderCut"


class Limit(ProviderFailure):
    """The answer went over a limit of the gateway's."""

    reason = "AnswerOverLimit"
    ending = "gateway_cut"
    status = 503


class TimeUp(Limit):
    """The time of the run, or of its step, was over; `refusal` says of which."""

    reason = "TimeUp"
    status = 400

    def __init__(self, message: str, refusal: str) -> None:
        super().__init__(message)
        self.refusal = refusal


class AgentGone(Exception):
    """The agent went away. What the provider sent after that was taken for as long as allowed."""
