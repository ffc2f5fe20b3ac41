"""What can go wrong at the provider's side. Each becomes the ending of an exchange."""

from fairtrial.errors import FairtrialError
from fairtrial.journal.summary import Ending


class ProviderFailure(FairtrialError):
    """The provider gave no answer, or no whole one."""

    ending: Ending = "upstream_cut"


class Unreachable(ProviderFailure):
    """No connection, or one that ended before an answer began."""

    reason = "ProviderUnreachable"
    ending = "upstream_unreachable"


class Silent(ProviderFailure):
    """Nothing came for too long."""

    reason = "ProviderSilent"
    ending = "upstream_silent"


class Cut(ProviderFailure):
    """The answer ended before its end."""

    reason = "ProviderCut"


class Limit(ProviderFailure):
    """The answer went over a limit of the gateway's."""

    reason = "AnswerOverLimit"
    ending = "gateway_cut"


class AgentGone(Exception):
    """The agent went away. What the provider sent after that was taken for as long as allowed."""
