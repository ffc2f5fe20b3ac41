"""What a person sees while something takes long: one line per step, its time, and a sign of life every ten seconds."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SIGN_OF_LIFE_SECONDS = 10.0


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce `title`, repeat it with the time so far while the body runs, and say how long it took."""
    started = time.monotonic()
    done = threading.Event()

    def beat() -> None:
        while not done.wait(SIGN_OF_LIFE_SECONDS):
            say(f"    … {title}: {time.monotonic() - started:.0f} s so far")

    say(f"  {title}")
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        done.set()
        say(f"  ✗ {title}: failed after {time.monotonic() - started:.1f} s")
        raise
    done.set()
    thread.join()
    say(f"  ✓ {title}: {time.monotonic() - started:.1f} s")


def say(line: str) -> None:
    """One line for the person who waits, on standard error so that output stays clean for programs."""
    print(line, file=sys.stderr, flush=True)
