"""The channel: one connection, whole frames, and no trust in what comes."""

import socket
import threading
from pathlib import Path

import pytest

from fairtrial.channel import FRAME_MAX, Channel, Listener, Raw, connect
from fairtrial.errors import ChannelBroken


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    with Channel(left) as one, Channel(right) as other:
        yield one, other


def test_messages_and_streams_arrive_as_they_were_sent(pair):
    one, other = pair
    data = bytes(range(256)) * 1000
    sender = threading.Thread(
        target=lambda: (one.send({"type": "x", "odd": "\udcff\0"}), one.send_raw("a/b", data), one.close())
    )
    sender.start()

    received = []
    while (message := other.receive(timeout=5)) is not None:
        received.append(message)
    sender.join()

    assert received[0] == {"type": "x", "odd": "\udcff\0"}
    assert b"".join(raw.data for raw in received[1:]) == data
    assert {raw.stream for raw in received[1:]} == {"a/b"}


def test_only_the_first_who_comes_is_let_in(tmp_path: Path):
    path = tmp_path / "s"
    listener = Listener(path)
    first = connect(path, timeout=1)
    accepted = listener.accept(timeout=1)

    assert not path.exists()
    with pytest.raises(ChannelBroken):
        connect(path, timeout=0.1)
    first.send({"still": "there"})
    assert accepted.receive(timeout=1) == {"still": "there"}
    first.close()
    assert accepted.receive(timeout=1) is None
    accepted.close()


def test_a_listener_waits_on_after_nobody_came(tmp_path: Path):
    listener = Listener(tmp_path / "s")
    with pytest.raises(TimeoutError):
        listener.accept(timeout=0.01)
    with connect(tmp_path / "s", timeout=1), listener.accept(timeout=1):
        pass


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n",
        b"J" + (FRAME_MAX + 1).to_bytes(4, "big"),
        b"J\0\0\0\2[]",
        b"J\0\0\0\3{\xff}",
        b"R\0\0\0\0",
        b"R\0\0\0\3\2..",
        b"R\0\0\0\5\xffabcd",
        b"J" + (100_000).to_bytes(4, "big") + b"[" * 100_000,
    ],
)
def test_garbage_is_refused(garbage):
    left, right = socket.socketpair()
    with left, Channel(right) as channel:
        left.sendall(garbage)
        with pytest.raises(ChannelBroken):
            channel.receive(timeout=1)


def test_a_frame_that_is_cut_is_refused_and_a_late_one_is_waited_for():
    left, right = socket.socketpair()
    with Channel(right) as channel:
        left.sendall(b"R\0\0\0\4\1aX")
        with pytest.raises(TimeoutError):
            channel.receive(timeout=0.01)
        left.sendall(b"Y" + b"R\0\0")
        assert channel.receive(timeout=1) == Raw("a", b"XY")
        left.close()
        with pytest.raises(ChannelBroken, match="middle"):
            channel.receive(timeout=1)


def test_sending_to_nobody_is_told(pair):
    one, other = pair
    other.close()
    with pytest.raises(ChannelBroken):
        for _ in range(100):
            one.send_raw("x", bytes(100_000))
