"""What is told of an exchange to whoever stores it, and when."""

import asyncio
import gc
from pathlib import Path

import pytest
from fairtrial_gateway.models import uploads as module
from fairtrial_gateway.models.spool import Spool
from fairtrial_gateway.models.storing import Ended
from fairtrial_gateway.models.uploads import Uploads
from fairtrial_gateway.models.workers import NotStoredNow

from fairtrial.documents import RunIdentity
from fairtrial.journal.exchange import Started
from fairtrial.journal.summary import Exchange

NAME = "1700000000000-0badcafe"
RUN = RunIdentity("team", "r1", "uid")
STARTED = Started(NAME, RUN, "p", "openaiChat", "/v1/chat/completions", "2026")
PAGE = Exchange(NAME, RUN, "p", "openaiChat", "/v1/chat/completions", "2026", "complete")


class Worker:
    """Remembers what it was asked, and fails as often as it is told."""

    def __init__(self, failures: int = 0, *, held: bool = False) -> None:
        self.starts: list[Started] = []
        self.free = asyncio.Event()
        if not held:
            self.free.set()
        self.ends: list[Ended] = []
        self.told = asyncio.Event()
        self._failures = failures

    async def started(self, started: Started) -> None:
        self.starts.append(started)
        self.told.set()

    async def ended(self, ended: Ended) -> int:
        await self.free.wait()
        self.ends.append(ended)
        self._failures -= 1
        if self._failures >= 0:
            raise NotStoredNow("not now.")
        return 0

    async def close(self) -> None:
        pass


def begun(folder: Path, worker: Worker) -> Uploads:
    spool = Spool(folder, 1 << 20)
    spool.create(NAME).close()
    uploads = Uploads(spool, worker, 1)
    uploads.began(STARTED, folder / f"{NAME}.ftj")
    return uploads


async def test_a_call_that_ends_at_once_needs_no_start_in_the_store(tmp_path):
    uploads = begun(tmp_path, worker := Worker())
    uploads.ended(PAGE, {})
    await uploads.settled()

    assert (worker.starts, len(worker.ends), uploads.waiting) == ([], 1, 0)
    assert not list(tmp_path.iterdir())


async def test_the_start_of_a_call_whose_page_is_late_is_told_so_that_somebody_waits_for_it(tmp_path):
    uploads = begun(tmp_path, worker := Worker(held=True))
    uploads.ended(PAGE, {})
    async with asyncio.timeout(30):
        await worker.told.wait()
    worker.free.set()
    await uploads.settled()

    assert (worker.starts, len(worker.ends)) == ([STARTED], 1)


async def test_a_call_that_is_stored_in_the_moment_in_which_its_start_is_to_be_told_leaves_nothing_behind(tmp_path):
    uploads = begun(tmp_path, worker := Worker())
    uploads._tell(one := uploads._open[NAME])  # as its timer does
    one.done()
    await asyncio.sleep(0.001)
    gc.collect()  # a coroutine that nobody awaited would be told as a warning

    assert worker.starts == []
    await uploads.close()


async def test_the_start_of_a_call_that_goes_on_is_told(tmp_path):
    uploads = begun(tmp_path, worker := Worker())
    async with asyncio.timeout(1):
        await worker.told.wait()
    assert worker.starts == [STARTED] and uploads.has(NAME) and uploads.waiting == 1
    await uploads.close()


async def test_what_the_journal_has_is_told_again_only_where_that_did_not_do(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.0)
    uploads = begun(tmp_path, worker := Worker(failures=2))
    uploads.ended(PAGE, {}, written=True)
    await uploads.settled()

    assert [(each.started, each.page) for each in worker.ends] == [(None, None), (STARTED, PAGE), (STARTED, PAGE)]
