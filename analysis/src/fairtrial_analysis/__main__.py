"""The analysis as a program: `run` in its Job, `again` on a package that somebody has fetched.

Exit codes of `run`, by which its Job decides: 0 the package is stored; 1 it may work another time; 2 it was refused for
what it was given, which no repetition changes. What came of it is also the container's termination message, one line of
JSON, which the operator reads. `again` gives 0 where every file is made anew byte for byte, 1 where one differs.
"""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fairtrial.errors import (
    Conflict,
    FairtrialError,
    NotStored,
    SigningFailed,
    StoreError,
    StoreUnfit,
)
from fairtrial.process.garbage import collect_seldom
from fairtrial_analysis.settings import Settings

log = logging.getLogger("fairtrial_analysis")
EXIT_DONE, EXIT_AGAIN, EXIT_REFUSED = 0, 1, 2
TERMINATION_LOG = "/dev/termination-log"
TOLD_MAX = 480  # characters of an error and of a next move: the kubelet keeps 4096 bytes
_MAY_PASS, _FOR_GOOD = (StoreError, SigningFailed), (StoreUnfit, NotStored, Conflict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments and do it."""
    parser = argparse.ArgumentParser(prog="python -m fairtrial_analysis", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="analyse the cohort that the environment names, and store the package")
    again = commands.add_parser("again", help="compute the files of a fetched package anew, and compare their bytes")
    again.add_argument("folder", type=Path, metavar="FOLDER", help="the package's folder, as `fairtrial fetch` made it")
    told = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if told.command == "again":
        from fairtrial_analysis.again import again as compare

        collect_seldom()

        return guarded(lambda: compare(told.folder), tell=log.debug)

    def run() -> int:
        from fairtrial_analysis.job import carry_out

        collect_seldom()
        made = carry_out(Settings.from_env(os.environ), os.environ)
        tell(made.line())
        return EXIT_DONE

    return guarded(run, tell=tell)


def guarded(work: Callable[[], int], *, tell: Callable[[str], None]) -> int:
    """Do the work; an error that this system explains is told in one line and becomes an exit code."""
    try:
        return work()
    except FairtrialError as error:
        log.error("%s", error)
        tell(failure(error))
        return exit_code(error)


def exit_code(error: FairtrialError) -> int:
    """Whether another attempt may succeed: a store or a key service may come back, evidence does not mend itself."""
    return EXIT_AGAIN if isinstance(error, _MAY_PASS) and not isinstance(error, _FOR_GOOD) else EXIT_REFUSED


def failure(error: FairtrialError) -> str:
    """The termination message of an error."""
    told = {"error": _short(error.message), "nextMove": _short(error.next_move)}
    return json.dumps(told, ensure_ascii=False, sort_keys=True)


def tell(line: str) -> None:
    """Leave the line where the kubelet finds it; outside a pod the log alone has it."""
    path = Path(os.environ.get("FAIRTRIAL_TERMINATION_LOG", TERMINATION_LOG))
    log.info("%s", line)
    if path.exists():
        path.write_text(line)


def _short(text: str) -> str:
    return " ".join(text.split())[:TOLD_MAX]


if __name__ == "__main__":
    sys.exit(main())
