"""scribe: a harness that nobody knows. It has one trick, no model, and an output format of its own."""

import json
import os
import pathlib
import subprocess
import sys
import time


def tell(event, **more):
    print(json.dumps({"ev": event, "t": round(time.time(), 3)} | more), flush=True)


def do(call, what, **arguments):
    """One use of a tool, told before and after."""
    tell("do", call=call, what=what, arg=arguments)
    good, text, code = TOOLS[what](**arguments)
    tell("done", call=call, good=good, text=text) if code is None else tell(
        "done", call=call, good=good, text=text, rc=code
    )


def look(file):
    return True, pathlib.Path(file).read_text(), None


def change(file, old, new):
    path = pathlib.Path(file)
    path.write_text(path.read_text().replace(old, new))
    return True, "changed", None


def shell(line):
    # Python compares a module's age in whole seconds: bytecode from before a quick edit would be taken for its own.
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(line, shell=True, env=env, capture_output=True, text=True, check=False)
    return ended.returncode == 0, ended.stdout + ended.stderr, ended.returncode


TOOLS = {"look": look, "change": change, "shell": shell}
TEST = "python3 -m unittest -q test_calc"

tell("hello", version="0.3", folder=str(pathlib.Path.cwd()))
tell("told", text=sys.argv[1])
tell("thinking", step=1)
tell("says", text="I look at the file and run its test.")
do(1, "look", file="calc.py")
do(2, "shell", line=TEST)
tell("thinking", step=2)
tell("says", text="It subtracts. I let it add.")
do(3, "change", file="calc.py", old="a - b", new="a + b")
do(4, "shell", line=TEST)
tell("spent", sent=1200, got=85)
tell("bye", why="done")
