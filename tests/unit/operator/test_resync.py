"""What a watch lost is found by a resync: from a fresh list, page by page, everything unfinished is looked at again."""

import asyncio
from types import SimpleNamespace
from typing import Any

from fairtrial_operator import settings
from fairtrial_operator.__main__ import Operator
from fairtrial_operator.cache import Key, Object
from fairtrial_operator.kube import COHORTS, RUNS, ApiUnavailable, Resource
from fairtrial_operator.state import cohort_key, namespace_key, run_key

from fairtrial import names
from fairtrial.testing import make_cohort, make_run
from tests.unit.operator.test_settings import GOOD
from tests.unit.operator.virtual_time import in_virtual_time

FOUND = {run_key(Key("trials", "run-1")), run_key(Key("trials", "run-2"))}


class Api:
    """Answers lists from pages by kind; the first list of all fails."""

    def __init__(self, pages: dict[str, list[list[Object]]]) -> None:
        self.pages, self.asked = pages, 0

    async def list_page(self, resource: Resource, *, fields: str = "", token: str = "") -> Object:
        self.asked += 1
        if self.asked == 1:
            raise ApiUnavailable(503, "ServiceUnavailable", "not now")
        assert fields == ("status.phase!=Done" if resource.kind == RUNS.kind else "")
        pages, at = self.pages[resource.kind], int(token or 0)
        more = str(at + 1) if at + 1 < len(pages) else ""
        return {"metadata": {"resourceVersion": "9", "continue": more}, "items": pages[at]}


def stored(model: Any, **metadata: Any) -> Object:
    raw: Object = model.as_json()
    return raw | {"metadata": raw["metadata"] | {"resourceVersion": "5"} | metadata}


def operator_of(api: Api) -> Operator:
    store = SimpleNamespace(settings=SimpleNamespace(prefix="", bucket="evidence"))
    given = settings.load(GOOD | {"FAIRTRIAL_RESYNC_SECONDS": "600"})
    signatory = SimpleNamespace(signs=False)
    return Operator(api, store, given, signatory)  # type: ignore[arg-type]


@in_virtual_time
async def test_unfinished_runs_and_cohorts_that_no_watch_showed_become_due_and_are_known_as_found_by_it() -> None:
    """The first attempt fails, which the next one makes good."""
    runs = [[stored(make_run("run-1"))], [stored(make_run("run-2"))]]
    operator = operator_of(Api({RUNS.kind: runs, COHORTS.kind: [[], [stored(make_cohort())]]}))
    state = operator._state
    state.namespaces.put(
        {"metadata": {"name": "trials", "resourceVersion": "1", "labels": {names.NAMESPACE_LABEL: "true"}}}
    )
    due: list[Any] = []

    async def handle(key: Any) -> bool:
        due.append(key)
        return True

    working = asyncio.create_task(state.queue.work(handle)), asyncio.create_task(operator._resync())
    await asyncio.sleep(2 * 600 * 1.2 + 30)
    assert not any(task.done() for task in working)
    for task in working:
        task.cancel()

    assert set(due) == FOUND | {cohort_key(Key("trials", "cohort-1")), namespace_key("trials")}
    assert state.resynced == FOUND
