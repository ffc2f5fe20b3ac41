"""Steps are told once, in order; every replica comes to the same step."""

import pytest
from fairtrial_gateway.access import Refused
from fairtrial_gateway.models.steps import AGAIN_SECONDS, Steps
from fairtrial_gateway.steps import notice_of

from fairtrial import documents
from fairtrial.documents import RunIdentity, StepBegun, StepNotice
from fairtrial.errors import StoreUnavailable
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore

RUN = RunIdentity("ns", "r", "u")
ONE, TWO = StepNotice("one", 60), StepNotice("two", 30, 12_000)
FIRST = Layout().run("ns", "r", "u").artifact("agent/steps/01.json")


class Store(MemoryStore):
    reads, away = 0, False

    def keys(self, prefix: str) -> list[str]:
        self.reads += 1
        if self.away:
            raise StoreUnavailable("away")
        return super().keys(prefix)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def steps(store: Store, clock: Clock) -> Steps:
    return Steps(store, Layout(), clock, clock)


async def test_a_step_that_was_told_is_the_runs_step(steps, store, clock):
    assert await steps.current(RUN, "") is None

    await steps.begin(RUN, "", 1, ONE)
    clock.now += 12
    note, data = await steps.begin(RUN, "", 2, TWO)
    step = await steps.current(RUN, "")

    assert (step.number, step.name, step.begun, step.wall_seconds, step.earlier_ms) == (2, "two", 1_012.0, 30, 12_000)
    assert documents.load(StepBegun, data) == note
    assert documents.load(StepBegun, store.get(FIRST)).begun_at == "1970-01-01T00:16:40.000Z"


async def test_a_step_that_is_told_twice_began_once(steps, clock):
    _, first = await steps.begin(RUN, "", 1, ONE)
    clock.now += 50

    _, again = await steps.begin(RUN, "", 1, ONE)

    assert again == first
    assert (await steps.current(RUN, "")).begun == 1_000.0


@pytest.mark.parametrize(
    ("number", "notice", "reason"),
    [
        (1, TWO, "StepBegun"),  # under another name
        (2, ONE, "StepBegun"),  # under another number
        (3, TWO, "StepOutOfOrder"),
    ],
)
async def test_no_step_begins_a_second_time_or_out_of_order(steps, number, notice, reason):
    await steps.begin(RUN, "", 1, ONE)

    with pytest.raises(Refused) as refused:
        await steps.begin(RUN, "", number, notice)

    assert (refused.value.refusal.status, refused.value.refusal.reason) == (409, reason)
    assert (await steps.current(RUN, "")).name == "one"


async def test_an_earlier_step_that_is_told_again_is_not_the_current_one(steps):
    await steps.begin(RUN, "", 1, ONE)
    await steps.begin(RUN, "", 2, TWO)

    await steps.begin(RUN, "", 1, ONE)

    assert (await steps.current(RUN, "")).name == "two"


async def test_another_replica_reads_the_notes_once(steps, store, clock):
    await steps.begin(RUN, "", 1, ONE)
    other = Steps(store, Layout(), clock, clock)

    assert (await other.current(RUN, "")).name == "one"
    reads = store.reads
    await other.current(RUN, "")
    assert store.reads == reads

    await steps.begin(RUN, "", 2, TWO)
    assert (await other.current(RUN, "")).name == "one"
    assert (await other.current(RUN, "", sure=True)).name == "one"  # it has just looked
    clock.now += AGAIN_SECONDS
    assert (await other.current(RUN, "", sure=True)).name == "two"


async def test_when_replicas_change_the_notes_are_read_again(steps, store, clock):
    await steps.begin(RUN, "", 1, ONE)
    other = Steps(store, Layout(), clock, clock)
    await other.current(RUN, "")
    await steps.begin(RUN, "", 2, TWO)

    other.read_again()

    assert (await other.current(RUN, "")).name == "two"


async def test_two_replicas_that_are_told_at_once_agree_on_when_a_step_began(clock):
    class Behind(Store):
        """Hides everything from one listing, as if the other replica's note had come right after it."""

        hides = False

        def keys(self, prefix: str) -> list[str]:
            hides, self.hides = self.hides, False
            return [] if hides else super().keys(prefix)

    store, late = Behind(), Clock()
    late.now += 3
    _, first = await Steps(store, Layout(), clock, clock).begin(RUN, "", 1, ONE)
    store.hides = True

    _, second = await Steps(store, Layout(), late, late).begin(RUN, "", 1, ONE)

    assert second == first


async def test_a_run_without_limits_of_steps_goes_on_while_the_store_is_away(steps, store):
    store.away = True

    assert await steps.guessed(RUN, "") is None
    reads = store.reads
    assert await steps.guessed(RUN, "") is None
    assert store.reads == reads
    with pytest.raises(StoreUnavailable):
        await Steps(store, Layout()).current(RUN, "")


async def test_a_note_that_is_none_is_not_believed(steps, store):
    store.put(FIRST, b"{}")

    assert await steps.current(RUN, "") is None


@pytest.mark.parametrize(
    ("number", "notice"),
    [
        (0, ONE),
        (17, ONE),
        (1, StepNotice("../x", 60)),
        (1, StepNotice("", 60)),
        (1, StepNotice("one", 0)),
        (1, StepNotice("one", 604_801)),
        (1, StepNotice("one", 60, -1)),
    ],
)
def test_a_notice_that_makes_no_sense_is_refused(number, notice):
    with pytest.raises(Refused) as refused:
        notice_of(number, documents.dump(notice))

    assert refused.value.refusal.status == 400
