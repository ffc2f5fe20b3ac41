"""Computes the analysis of a fetched package anew, from the evidence in it, and compares what it makes byte for byte.

This uses the very code that made the package; `fairtrial verify` checks the numbers with code of its own.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairtrial import documents
from fairtrial.errors import InvalidInput
from fairtrial.evidence import package_paths as paths
from fairtrial_analysis.analyse import Analysis, Settings, analyse
from fairtrial_analysis.load.source import FolderSource
from fairtrial_analysis.package import bag, papers

SHOWN = 10
VALUE_MAX = 80


def again(folder: Path) -> int:
    """Print for each file of the analysis whether it is the same; 0 if all are, 1 otherwise."""
    stated = request_of(folder)
    made = stated["analysis"]["version"]
    if made != bag.version():
        print(f"made by version {made}; this is {bag.version()}, which may compute otherwise")
    signing = stated.get("signing", "unknown")
    size = stated["ledger"]["size"]
    settings = Settings(size, stated["analysis"].get("image"), signing)
    computed = files_of(analyse(FolderSource(folder, size), settings))
    different = 0
    for name, data in computed.items():
        file = folder / paths.PAYLOAD / name
        told = list(differences(name, file.read_bytes() if file.is_file() else None, data))
        different += bool(told)
        print(f"{'differs' if told else 'same   '}  {name}")
        for line in told:
            print(f"           {line}")
    print("every byte is the same" if not different else f"{different} of {len(computed)} files differ")
    return 1 if different else 0


def request_of(folder: Path) -> dict[str, Any]:
    """What the package says was analysed, and with what."""
    file = folder / paths.PAYLOAD / paths.REQUEST
    if not file.is_file():
        raise InvalidInput(f"{folder}: has no {paths.PAYLOAD}{paths.REQUEST}.", next_move="Fetch it: fairtrial fetch.")
    found: dict[str, Any] = documents.load(dict[str, Any], file.read_bytes(), name=str(file))
    try:
        size, version = found["ledger"]["size"], found["analysis"]["version"]
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{file}: lacks {error}.") from error
    if not isinstance(size, int) or not isinstance(version, str):
        raise InvalidInput(f"{file}: ledger.size must be a number and analysis.version a text.")
    return found


def files_of(analysis: Analysis) -> dict[str, bytes]:
    """The files that an analysis makes, by their paths below `data/`."""
    made = analysis.outputs
    return {
        paths.REQUEST: documents.dump(papers.request(analysis.report)),
        paths.REPORT: made.report_json,
        "analysis/runs.csv": made.runs_csv,
        "analysis/runs.parquet": made.runs_parquet,
        "analysis/report.html": made.report_html,
    }


def differences(name: str, held: bytes | None, made: bytes) -> Iterator[str]:
    """What differs, in lines for people; nothing where the bytes are the same."""
    if held == made:
        return
    if held is None:
        yield "is not in the package"
        return
    told = list(_values(held, made))[: SHOWN + 1] if name.endswith(".json") else []
    if told:
        yield from told[:SHOWN]
        if len(told) > SHOWN:
            yield "and more"
        return
    at = next((i for i, (a, b) in enumerate(zip(held, made, strict=False)) if a != b), min(len(held), len(made)))
    line = held[:at].count(b"\n") + 1
    yield f"from byte {at} on (line {line}); {len(held)} bytes in the package, {len(made)} computed"


def _values(held: bytes, made: bytes) -> Iterator[str]:
    try:
        yield from _compare("", json.loads(held), json.loads(made))
    except (ValueError, RecursionError):
        return


def _compare(path: str, held: Any, made: Any) -> Iterator[str]:
    if isinstance(held, dict) and isinstance(made, dict):
        for key in sorted(held.keys() | made.keys()):
            yield from _compare(f"{path}.{key}".lstrip("."), held.get(key), made.get(key))
    elif isinstance(held, list) and isinstance(made, list) and len(held) == len(made):
        for index, (one, other) in enumerate(zip(held, made, strict=True)):
            yield from _compare(f"{path}[{index}]", one, other)
    elif held != made or type(held) is not type(made):
        yield f"{path}: {_short(held)} in the package, {_short(made)} computed"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}…"
