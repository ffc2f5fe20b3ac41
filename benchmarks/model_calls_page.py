"""The numbers of `model_calls.md`, written into the page from `results/model_calls.json`.

`python -m benchmarks model_calls` does it after measuring. What stands between the marks of a block is replaced; the
words around it are left to whoever reads the numbers.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, RESULTS = HERE / "model_calls.md", HERE / "results" / "model_calls.json"
SYSTEMS = {"gateway": "gateway", "mitmdump": "mitmdump", "litellm": "LiteLLM", "litellmS3": "LiteLLM, S3 log"}
PACED = {"1": "one connection, back to back", "paced 16": "16 connections, {rate} calls/s"}
PACED["paced 128"] = "128 connections, {rate} calls/s"
STREAM_ROWS = (
    ("first chunk, p50", ("firstP50Ms",), " ms"),
    ("age p50 / p99", ("ageP50Ms", "ageP99Ms"), " ms"),
    ("jitter of the gaps p50 / p99", ("jitterP50Ms", "jitterP99Ms"), " ms"),
)

Measured = dict[str, Any]


def written(page: str, document: dict[str, Any]) -> str:
    """The page with the numbers of a result; every block must be there."""
    for name, block in BLOCKS.items():
        mark = re.compile(rf"(<!-- numbers: {name} -->\n).*?(\n<!-- end -->)", re.S)
        lines = "\n".join(block(document["measured"]))
        page, found = mark.subn(lambda at, lines=lines: f"{at[1]}{lines}{at[2]}", page)
        if found != 1:
            raise ValueError(f"{PAGE.name} has {found} blocks {name!r}, where it must have one.")
    return page


def write() -> None:
    """Write the numbers of the newest result into the page."""
    PAGE.write_text(written(PAGE.read_text(), json.loads(RESULTS.read_text())))


def goals(measured: Measured) -> list[str]:
    """What was wanted, what was found, and whether that is enough."""
    goal, added = measured["goals"], measured["addedMs"]
    paced, back = added["paced 16"]["gateway"], added["1"]["gateway"]
    ratios, memory = measured["timesLitellmPerCore"], measured["memory"]["gateway"]["servingMB"]
    late, rate = measured["lateShareBeyondDirect"], measured["load"]["pacedCallsPerSecond"]
    many = measured["load"]["open"]
    total = round(many["streams"] * many["megabytesEach"] / 1000, 1)
    grown = memory["atTheEnd"] - memory["afterAFifth"]
    times = (
        f"{ratios['servingOnly']:.1f} times for what serves; {ratios['withStoring']:.1f} times with storing;"
        f" {ratios['bothWithStoring']:.1f} times where both store"
    )
    rows = [
        (
            f"added p50 under {goal['addedP50Ms']:.0f} ms at 16 connections, {rate} calls/s",
            f"{number(paced['p50'])} ms (one connection, back to back: {number(back['p50'])} ms)",
            paced["p50"] < goal["addedP50Ms"],
        ),
        (
            f"added p99 under {goal['addedP99Ms']:.0f} ms at 16 connections, {rate} calls/s",
            f"{number(paced['p99'])} ms",
            paced["p99"] < goal["addedP99Ms"],
        ),
        (
            f"at least {goal['timesLitellmPerCore']:.0f} times LiteLLM's throughput per core",
            times,
            ratios["servingOnly"] >= goal["timesLitellmPerCore"],
        ),
        (
            f"at most {goal['lateShare']:.0%} of chunks delayed over 5 ms by the gateway",
            f"{late:.1%}",
            late <= goal["lateShare"],
        ),
        (
            f"memory flat with {many['streams']} open streams",
            f"{memory['afterAFifth']} MB after a fifth of {total} GB, {memory['atTheEnd']} MB at the end",
            grown <= goal["grownMB"],
        ),
    ]
    return table(("goal", "measured", ""), [(what, found, met(good)) for what, found, good in rows])


def fast(measured: Measured) -> list[str]:
    """Calls/s and latencies of small calls as fast as they go."""
    names = ("direct", *SYSTEMS)
    rows = []
    for connections in measured["load"]["callsByConnections"]:
        found = measured["calls"][connections]
        cells = (
            f"{found[name]['perSecond']:,.0f} · {number(found[name]['p50Ms'])}/{number(found[name]['p99Ms'])}"
            for name in names
        )
        rows.append((connections, *cells))
    return table(("connections", "direct", *SYSTEMS.values()), rows)


def added(measured: Measured) -> list[str]:
    """What each proxy adds to a call that need not wait for others."""
    rows, rate = [], measured["load"]["pacedCallsPerSecond"]
    for load, label in PACED.items():
        found = measured["addedMs"][load]
        told = (f"{number(found[name]['p50'])}/{number(found[name]['p99'])}" for name in list(SYSTEMS)[:3])
        rows.append((label.format(rate=rate), *told))
    return table(("", *list(SYSTEMS.values())[:3]), rows)


def processor(measured: Measured) -> list[str]:
    """Processor seconds of 1,000 calls."""
    used = measured["cpuSecondsPer1000Calls"]
    serving = (f"{used[name]['serving']:.1f}" for name in SYSTEMS)
    storing = (
        ("serving", *serving),
        ("storing", f"{used['gateway']['storing']:.1f}", "none", "none", "(in the same process)"),
    )
    return table(("", *SYSTEMS.values()), list(storing))


def streams(measured: Measured) -> list[str]:
    """Paced streams beside each other."""
    names = ("direct", *list(SYSTEMS)[:3])
    found = measured["streams"]
    rows = [
        (what, *(" / ".join(number(found[name][key]) for key in keys) + unit for name in names))
        for what, keys, unit in STREAM_ROWS
    ]
    rows.append(("older than 5 ms", *(f"{found[name]['lateShare']:.1%}" for name in names)))
    return table(("", "direct", *list(SYSTEMS.values())[:3]), rows)


def memory(measured: Measured) -> list[str]:
    """Resident memory while many large streams are open."""
    found = measured["memory"]
    columns = [found["gateway"]["servingMB"], found["gateway"]["storingMB"]]
    columns += [found[name]["servingMB"] for name in ("mitmdump", "litellm")]
    moments = {"idle": "idle", "after a fifth of the bytes": "afterAFifth", "at the end": "atTheEnd"}
    rows = [(what, *(f"{column[key]:,}" for column in columns)) for what, key in moments.items()]
    came = {name: f"{each['receivedMB']:,} MB in {each['seconds']:.0f} s" for name, each in found.items()}
    rows.append(("received", came["gateway"], "", came["mitmdump"], came["litellm"]))
    head = ("resident memory, MB", "gateway", "its storing process", "mitmdump (streams not recorded)", "LiteLLM")
    return table(head, rows)


BLOCKS: dict[str, Callable[[Measured], list[str]]] = {
    "goals": goals,
    "fast": fast,
    "added": added,
    "processor": processor,
    "streams": streams,
    "memory": memory,
}


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Lines of a table in Markdown."""
    return [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (head, ("---",) * len(head), *rows)]


def number(value: float) -> str:
    """Two digits that count, and no more than whole numbers from ten on."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def met(good: bool) -> str:
    """A verdict."""
    return "met" if good else "**not met**"


if __name__ == "__main__":
    write()
