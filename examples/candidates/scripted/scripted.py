"""An agent that plays: it knows the solutions of the example tasks, and in one run of three forgets to apply its own.

Which run that is follows from the run's name, so that everybody gets the same results. With --second-look it looks
whether anything has changed before it says that it is done, and then does what it forgot.

    python3 scripted.py [--second-look] PROJECT
"""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CANDIDATE = "/fairtrial/candidate/"  # where the solutions' own scripts look for their files
# What a task's project holds → the task. Each solution's files lie beside this one as `<task>.<file>`.
MARKS = {
    "billing/plan.py": "billing-symptom",
    "courier/worker.py": "courier-question",
    "hashids.py": "hashids-rename",
    "invoices/rates.py": "rates-adapter",
    "notes/access.py": "notes-authorization",
    "orders/database.py": "orders-migration",
    "parse.py": "parse-defect",
    "shop/checkout.py": "giftcard-rule",
    "src/cachetools/__init__.py": "cachetools-feature",
    "stockroom/storage.py": "stock-field",
}
ONE_OF = 3


def forgets(host: str) -> bool:
    """Whether the first try of this run comes to nothing. A pod's host name is its own: `<run>-agent`.

    A replacement, `<run>-r1`, forgets if the run that it replaces did: so no fault changes what a cohort comes to.
    """
    scheduled = re.sub(r"-r[0-9]+$", "", host.removesuffix("-agent"))
    return hashlib.sha256(f"{scheduled}-agent".encode()).digest()[0] % ONE_OF == 0


def task_of(project: Path) -> str:
    """The task that a project belongs to."""
    found = [task for mark, task in MARKS.items() if (project / mark).is_file()]
    if len(found) != 1:
        sys.exit(f"{project}: looks like {len(found)} of the tasks that I know")
    return found[0]


def solve(task: str, project: Path) -> None:
    """Apply the solution of a task."""
    with tempfile.TemporaryDirectory() as scratch:
        for file in Path(__file__).parent.glob(f"{task}.*"):
            shutil.copyfile(file, Path(scratch, file.name.removeprefix(f"{task}.")))
        script = next(Path(scratch).glob("solve.*"))
        script.write_text(script.read_text().replace(CANDIDATE, f"{scratch}/"))
        program = sys.executable if script.suffix == ".py" else "/bin/sh"
        subprocess.run([program, str(script), str(project)], check=True)


def main() -> None:
    """Work on the project that the last argument names."""
    *options, folder = sys.argv[1:]
    project = Path(folder)
    task = task_of(project)
    print(f"this is {task}", flush=True)
    changed = not forgets(platform.node())
    if changed:
        solve(task, project)
    if not changed and "--second-look" in options:
        print("nothing has changed yet", flush=True)
        solve(task, project)
    print("done", flush=True)


if __name__ == "__main__":
    main()
