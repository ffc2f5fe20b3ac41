"""Where a recorder tells that a step of its run begins: `PUT /v1/steps/NUMBER`, with the recorder's own token.

The agent has no such token, and a step begins once and in its turn, so nobody can win a step's budget a second time.
"""

import re

import aiohttp
from aiohttp import web

from fairtrial import documents
from fairtrial.documents import RunIdentity, StepNotice
from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import sha256
from fairtrial_gateway.access import Access, Refused
from fairtrial_gateway.models.steps import STEPS_MAX, Steps, name_of
from fairtrial_gateway.policy import may_begin_step

BODY_MAX = 4096
_STEP_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SECONDS_MAX = 604_800


class StepNotices:
    """The handler of notices."""

    def __init__(self, access: Access, steps: Steps) -> None:
        self._access, self._steps = access, steps

    def routes(self) -> list[web.RouteDef]:
        """What this module serves."""
        return [web.put(r"/v1/steps/{number:[0-9]{1,2}}", self.begin)]

    async def begin(self, request: web.Request) -> web.Response:
        """Write down that a step begins; the answer names the note, which is an artifact of the run."""
        number = int(request.match_info["number"])
        run = (await self._access.admit(request, may_begin_step, str(number))).run
        notice = notice_of(number, await _body(request))
        note, data = await self._steps.begin(RunIdentity(run.namespace, run.name, run.uid), run.cohort, number, notice)
        return web.json_response({"name": name_of(note.number), "size": len(data), "sha256": sha256(data)})


async def _body(request: web.Request) -> bytes:
    if (request.content_length or 0) > BODY_MAX:
        raise Refused(413, "TooLarge", f"A notice may have {BODY_MAX} bytes.")
    try:
        return await request.content.readexactly(request.content_length or 0)
    except (EOFError, aiohttp.ClientError, ConnectionError) as error:
        raise Refused(400, "BodyCut", "The connection ended before the notice did.") from error


def notice_of(number: int, body: bytes) -> StepNotice:
    """A notice that makes sense. Pure."""
    try:
        notice: StepNotice = documents.load(StepNotice, body, name="notice")
    except InvalidInput as error:
        raise Refused(400, "InvalidNotice", str(error)) from error
    if not 1 <= number <= STEPS_MAX:
        raise Refused(400, "InvalidNotice", f"Steps have the numbers 1 to {STEPS_MAX}; this is {number}.")
    if not _STEP_NAME.fullmatch(notice.name):
        raise Refused(400, "InvalidNotice", "name: is no name of a step.")
    if not 1 <= notice.wall_seconds <= _SECONDS_MAX or notice.earlier_ms < 0:
        raise Refused(400, "InvalidNotice", f"wallSeconds: must be 1 to {_SECONDS_MAX}; earlierMs: no less than 0.")
    return notice
