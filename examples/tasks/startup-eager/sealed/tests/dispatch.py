"""Times one command in a process that is warm: a sample is the mean of a thousand calls, above the clock's resolution."""

import json
import sys
import time

from menu.commands import run

CALLS, SAMPLES, WARM_UP = 1000, 20, 5


def sample() -> int:
    began = time.perf_counter_ns()
    for _ in range(CALLS):
        run("words", ["to be or not to be"])
    return (time.perf_counter_ns() - began) // CALLS


for _ in range(WARM_UP):
    sample()
with open(sys.argv[1], "w") as results:
    json.dump([sample() for _ in range(SAMPLES)], results)
