"""Addresses, settings, endpoints, room, and the spool's files."""

import asyncio
import os
from pathlib import Path

import pytest
from fairtrial_gateway.models.replicas import ready_endpoints
from fairtrial_gateway.models.room import NoRoom, Room
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.spool import HELD_MAX, Spool, SpoolFull
from fairtrial_gateway.models.upstream import address, text

from fairtrial.errors import InvalidInput
from fairtrial.journal.frames import FrameReader, Kind

EXCHANGE = "1700000000000-0badcafe"


@pytest.mark.parametrize(
    ("url", "path", "expected"),
    [
        ("https://api.example.org", "/v1/messages", "https://api.example.org"),
        ("https://api.example.org/", "/v1/messages", "https://api.example.org"),
        ("https://api.example.org/v1", "/v1/messages", "https://api.example.org"),
        ("https://api.example.org/v1/", "/v1/messages", "https://api.example.org"),
        ("https://example.org/openai/v1", "/v1/responses", "https://example.org/openai"),
        ("https://example.org/v1", "/v1beta/models/m:generateContent", "https://example.org/v1"),
        ("https://example.org/v1beta", "/v1beta/models/m:generateContent", "https://example.org"),
        ("https://v1", "/v1/messages", "https://v1"),
    ],
)
def test_a_version_in_the_address_is_not_said_twice(url, path, expected):
    assert address(url, path) == expected


def test_header_bytes_become_text_whatever_they_are():
    assert (text("ü".encode()), text(b"\xfc"), text(b"x")) == ("ü", "ü", "x")


def test_settings_come_from_the_environment_by_their_names():
    env = {
        "FAIRTRIAL_GATEWAY_SPOOL_DIR": "/x",
        "FAIRTRIAL_GATEWAY_QUEUE_SECONDS": "0.5",
        "FAIRTRIAL_GATEWAY_REPLICAS": "3",
    }
    found = ModelSettings.from_env(env)

    assert (found.spool_dir, found.queue_seconds, found.replicas, found.idle_seconds) == ("/x", 0.5, 3, 300)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1e400", "nan"])
def test_a_setting_that_is_no_number_above_zero_is_refused_by_name(text):
    with pytest.raises(InvalidInput, match="FAIRTRIAL_GATEWAY_IDLE_SECONDS"):
        ModelSettings.from_env({"FAIRTRIAL_GATEWAY_IDLE_SECONDS": text})


def test_gateways_that_serve_are_counted_once():
    ready = {"ready": True, "serving": True}
    slices = [
        {
            "endpoints": [
                {"addresses": ["10.0.0.1"], "conditions": ready},
                {"addresses": ["10.0.0.2"], "conditions": {"ready": False, "serving": True, "terminating": True}},
                {"addresses": ["10.0.0.3"], "conditions": {"ready": False, "serving": False}},
                {"addresses": ["10.0.0.4"]},
            ]
        },
        {"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]},
        {"endpoints": None},
    ]
    assert ready_endpoints(slices) == {"10.0.0.1", "10.0.0.2", "10.0.0.4"}


async def test_room_is_given_in_order_and_never_more_than_there_is():
    room, order = Room(10), []

    async def hold(name: str, size: int, until: asyncio.Event) -> None:
        async with room.take(size, 5, name):
            order.append(name)
            await until.wait()

    first, rest = asyncio.Event(), asyncio.Event()
    tasks = [asyncio.create_task(hold(*each)) for each in (("a", 8, first), ("huge", 99, rest), ("b", 1, rest))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == ["a"]  # b would fit, but huge came before it
    first.set()
    await asyncio.sleep(0.01)
    assert order == ["a", "huge"]
    rest.set()
    await asyncio.gather(*tasks)
    assert order == ["a", "huge", "b"]


async def test_whoever_gets_no_room_in_time_is_told_and_blocks_nobody():
    room = Room(10)
    async with room.take(10, 1, "a"):
        with pytest.raises(NoRoom):
            async with room.take(5, 0.01, "b"):
                pass
    async with room.take(10, 0.01, "b"):
        pass


async def test_one_run_cannot_hold_all_the_room():
    room = Room(16)
    async with room.take(3, 1, "hog"):
        waiting = asyncio.create_task(taken(room, 2, "hog"))
        await asyncio.sleep(0)
        async with room.take(1, 0.1, "hog"), room.take(12, 0.1, "other"):  # a quarter is a run's, and one call always
            assert not waiting.done()
    await waiting


async def test_room_that_comes_to_whoever_has_just_gone_away_goes_on():
    room = Room(16)
    async with room.take(16, 1, "a"):
        gone, last = (asyncio.create_task(taken(room, 16, who)) for who in "bc")
        await asyncio.sleep(0)
        gone.cancel()  # and before it runs, its room comes
    await asyncio.wait_for(last, 1)
    async with room.take(16, 0.1, "d"):
        pass


async def test_room_that_was_not_needed_goes_to_others():
    room = Room(16)
    async with room.take(16, 1, "a") as place:
        waiting = asyncio.create_task(taken(room, 10, "b"))
        await asyncio.sleep(0)
        assert not waiting.done()
        place.shrink(6)
        await asyncio.wait_for(waiting, 1)
    async with room.take(16, 0.1, "c"):
        pass


async def taken(room: Room, size: int, who: str) -> None:
    async with room.take(size, 5, who):
        pass


# --- spool ------------------------------------------------------------------------------------------------------------
def frames(path: Path) -> list[tuple[int, int]]:
    with path.open("rb") as file:
        return [(frame.kind, len(frame.payload)) for frame in FrameReader(file)]


def test_a_spool_knows_its_size_also_after_a_restart(tmp_path: Path):
    spool = Spool(tmp_path, 100_000)
    file = spool.create(EXCHANGE)
    file.append(Kind.REQUEST_BODY, 0, b"x" * 1000)
    file.close()
    (tmp_path / "something.txt").write_text("else")

    assert spool.used == file.path.stat().st_size == Spool(tmp_path, 100_000).used
    spool.remove(file.path)
    assert spool.used == 0 and Spool(tmp_path, 100_000).files() == []


def test_a_full_spool_takes_ends_only(tmp_path: Path):
    spool = Spool(tmp_path, 1000)
    file = spool.create(EXCHANGE)
    file.append(Kind.RESPONSE_BODY, 0, b"x" * 700)
    assert not spool.full
    file.append(Kind.RESPONSE_BODY, 0, b"x" * 50)
    assert spool.full
    with pytest.raises(SpoolFull):
        file.append(Kind.RESPONSE_BODY, 0, b"x" * 500)
    file.append(Kind.ENDED, 0, b"x" * 500, always=True)
    file.close()

    assert [kind for kind, _ in frames(file.path)] == [Kind.RESPONSE_BODY, Kind.RESPONSE_BODY, Kind.ENDED]


def test_frames_that_follow_each_other_at_once_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file, writes, write = Spool(tmp_path, 100_000).create(EXCHANGE), [], os.writev
    monkeypatch.setattr(os, "writev", lambda number, buffers: writes.append(len(buffers)) or write(number, buffers))
    file.append(Kind.REQUEST_BODY, 0, b"x" * 10, more=True)
    assert file.path.stat().st_size == 0
    file.append(Kind.REQUEST_END, 0)
    file.append(Kind.RESPONSE_BODY, 0, b"x" * (HELD_MAX + 1), more=True)  # too long to be kept
    file.close()

    assert len(writes) == 2
    assert frames(file.path) == [(Kind.REQUEST_BODY, 10), (Kind.REQUEST_END, 0), (Kind.RESPONSE_BODY, HELD_MAX + 1)]


def test_a_journal_whose_first_frame_was_refused_still_begins_with_its_header(tmp_path: Path):
    file = Spool(tmp_path, 1000).create(EXCHANGE)
    with pytest.raises(SpoolFull):
        file.append(Kind.REQUEST_BODY, 0, b"x" * 2000)
    file.append(Kind.NOTE, 0, b"z")
    file.close()

    assert frames(file.path) == [(Kind.NOTE, 1)]


def test_what_a_disk_refuses_leaves_no_half_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spool = Spool(tmp_path, 100_000)
    file = spool.create(EXCHANGE)
    whole = os.writev

    def half(number: int, buffers: list[bytes]) -> int:
        return whole(number, [buffers[0][:10]])

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "writev", half)
    file.append(Kind.REQUEST_BODY, 0, b"x" * 100)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SpoolFull, match="No space left"):
        file.append(Kind.REQUEST_BODY, 0, b"y" * 100)
    monkeypatch.undo()
    file.append(Kind.NOTE, 0, b"z")
    file.close()

    assert frames(file.path) == [(Kind.REQUEST_BODY, 100), (Kind.NOTE, 1)]
    assert spool.used == file.path.stat().st_size
