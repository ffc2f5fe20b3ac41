"""An agent that plays: it knows the solutions of the example tasks, and in one run of three forgets to apply its own.

Which run that is follows from the run's name, so that everybody gets the same results. With --second-look it looks
whether anything has changed before it says that it is done, and then does what it forgot.

    python3 scripted.py [--second-look] PROJECT
"""

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CANDIDATE = "/fairtrial/candidate/"  # where the solutions' own scripts look for their files
# What a task's project holds → the task. Each solution's files lie beside this one as `<task>.<file>`.
MARKS = {
    "geo/plane.py": "api-change",
    "src/cachetools/__init__.py": "cachetools-feature",
    "hashids.py": "hashids-rename",
    "parse.py": "parse-defect",
    "bank/account.py": "test-addition",
    "stock/shelf.py": "types-fix",
}
ONE_OF = 3


def forgets(host: str) -> bool:
    """Whether the first try of this run comes to nothing. A pod's host name is its own: `<run>-agent`."""
    return hashlib.sha256(host.encode()).digest()[0] % ONE_OF == 0


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
