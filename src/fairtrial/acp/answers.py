"""What the client answers when the agent asks: permissions by a declared policy, files if offered, nothing else.

The package calls methods by names of arguments, those that it knows and the agent's own; most are of no interest.
"""

from collections.abc import Sequence
from typing import Any, Literal, NoReturn, get_args

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

from fairtrial.acp.files import Files

Policy = Literal["allow", "reject"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
# Once goes first: every call that the agent asks about then stands in the record with its answer.
_WANTED = {"allow": ("allow_once", "allow_always"), "reject": ("reject_once", "reject_always")}


def outcome(options: Sequence[PermissionOption], policy: Policy) -> AllowedOutcome | DeniedOutcome:
    """The option that the policy takes; cancelled if the agent offers none of its kind. Pure."""
    for kind in _WANTED[policy]:
        for option in options:
            if option.kind == kind:
                return AllowedOutcome(outcome="selected", option_id=option.option_id)
    return DeniedOutcome(outcome="cancelled")


class Answers:
    """The methods that `acp` calls on a client. Once `over` is set, the session is, and every request is refused."""

    def __init__(self, policy: Policy, files: Files | None) -> None:
        self._policy: Policy = policy
        self._files = files
        self.over = False

    async def request_permission(self, options: list[PermissionOption], **_: Any) -> RequestPermissionResponse:
        """`session/request_permission`."""
        self._still_on()
        return RequestPermissionResponse(outcome=outcome(options, self._policy))

    async def session_update(self, **_: Any) -> None:
        """`session/update`: it has been written down already."""

    async def read_text_file(
        self, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """`fs/read_text_file`."""
        return ReadTextFileResponse(content=self._offered("fs/read_text_file").read(path, line, limit))

    async def write_text_file(self, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        """`fs/write_text_file`."""
        self._offered("fs/write_text_file").write(path, content)
        return WriteTextFileResponse()

    # Without these, the package would answer null where the agent waits for a terminal.
    async def create_terminal(self, **_: Any) -> NoReturn:
        """`terminal/create`."""
        raise RequestError.method_not_found("terminal/create")

    async def terminal_output(self, **_: Any) -> NoReturn:
        """`terminal/output`."""
        raise RequestError.method_not_found("terminal/output")

    async def release_terminal(self, **_: Any) -> NoReturn:
        """`terminal/release`."""
        raise RequestError.method_not_found("terminal/release")

    async def wait_for_terminal_exit(self, **_: Any) -> NoReturn:
        """`terminal/wait_for_exit`."""
        raise RequestError.method_not_found("terminal/wait_for_exit")

    async def kill_terminal(self, **_: Any) -> NoReturn:
        """`terminal/kill`."""
        raise RequestError.method_not_found("terminal/kill")

    async def create_elicitation(self, **_: Any) -> NoReturn:
        """`elicitation/create`: nobody is there to be asked."""
        raise RequestError.method_not_found("elicitation/create")

    async def complete_elicitation(self, **_: Any) -> None:
        """`elicitation/complete`."""

    async def ext_method(self, method: str, _params: dict[str, Any]) -> NoReturn:
        """A method that is the agent's own."""
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, _method: str, _params: dict[str, Any]) -> None:
        """A notification that is the agent's own."""

    def _offered(self, method: str) -> Files:
        self._still_on()
        if self._files is None:
            raise RequestError.method_not_found(method)
        return self._files

    def _still_on(self) -> None:
        if self.over:
            raise RequestError(-32600, "The session is over.")
