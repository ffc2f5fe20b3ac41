"""The journal's file format: whole frames are read whatever became of the end of the file."""

import io

import pytest

from fairtrial.journal.frames import FILE_HEADER, HEAD_SIZE, PAYLOAD_MAX, Frame, FrameReader, Kind, Stop, frame_head

FRAMES = [
    Frame(Kind.STARTED, 0, b'{"exchange":"x"}'),
    Frame(Kind.REQUEST_BODY, 1, b""),
    Frame(Kind.RESPONSE_BODY, 2**40, bytes(range(256))),
    Frame(Kind.ENDED, 2**40 + 1, b"{}"),
]


def encoded(frames: list[Frame]) -> bytes:
    return FILE_HEADER + b"".join(frame_head(f.kind, f.ms, f.payload) + f.payload for f in frames)


def read(data: bytes) -> tuple[list[Frame], Stop | None]:
    reader = FrameReader(io.BytesIO(data))
    return list(reader), reader.stop


def ends() -> list[int]:
    """Where the header and each frame end."""
    found = [len(FILE_HEADER)]
    for frame in FRAMES:
        found.append(found[-1] + HEAD_SIZE + len(frame.payload))
    return found


def test_what_is_written_is_read():
    data = encoded(FRAMES)

    assert read(data) == (FRAMES, Stop(len(data), "end"))


def test_a_file_cut_at_any_byte_gives_every_whole_frame():
    data = encoded(FRAMES)
    for size in range(len(data) + 1):
        whole = [end for end in ends() if end <= size]
        frames, stop = read(data[:size])

        assert frames == FRAMES[: max(0, len(whole) - 1)], size
        assert stop == Stop(whole[-1] if whole else 0, "end" if whole and whole[-1] == size else "cut"), size


def test_a_flipped_bit_anywhere_is_seen_and_what_stood_before_it_is_read():
    data = encoded(FRAMES)
    for at in range(len(data)):
        for bit in (1, 128):
            damaged = bytearray(data)
            damaged[at] ^= bit
            before = [end for end in ends() if end <= at]
            frames, stop = read(bytes(damaged))

            assert frames == FRAMES[: max(0, len(before) - 1)], at
            assert stop is not None
            assert stop.offset == (before[-1] if before else 0), at
            assert stop.why == "damaged" if before else stop.why in ("foreign", "version"), at


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"", "cut"), (b"GET / HTTP/1.1", "foreign"), (FILE_HEADER[:-1] + b"\x02", "version"), (b"x", "foreign")],
)
def test_what_is_no_journal_says_so(data, why):
    assert read(data) == ([], Stop(0, why))


def test_a_payload_has_a_limit():
    with pytest.raises(ValueError, match="at most"):
        frame_head(Kind.NOTE, 0, bytes(PAYLOAD_MAX + 1))
