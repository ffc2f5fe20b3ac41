"""Submitted code that tries to be judged better than it is. Each way ends failed, or in an error; never passed."""

import sys
from pathlib import Path

import pytest
from fairtrial_evaluator.local import LocalTask, evaluate_locally

from fairtrial.documents import EvaluationReport
from fairtrial.task.packed import DEFAULT_PROTECTED, GENERATED, Check, Evaluation, PackedStep, PublicTask

FIXTURE = {"src/calc.py": "def double(x):\n    raise NotImplementedError\n"}
RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 3 * x\n"
HIDDEN = """
import unittest
from calc import double

def test_doubles_two():
    assert double(2) == 4

class TestMore(unittest.TestCase):
    def test_doubles_three(self):
        self.assertEqual(double(3), 6)
"""
FORGED = (
    '<testsuites><testsuite><testcase classname="tests.test_hidden" name="test_doubles_two"/>'
    '<testcase classname="tests.test_hidden.TestMore" name="test_doubles_three"/></testsuite></testsuites>'
)
FIND_RESULTS = (
    "argv = open('/proc/self/cmdline').read().split(chr(0))\n"
    "path = next(a.split('=')[1] for a in argv if '--junitxml=' in a)\n"
)


def judge(tmp_path: Path, files: dict[str, str], *, timeout: int = 60, wall: float = 600) -> EvaluationReport:
    check = Check(
        name="behaviour",
        kind="junit",
        category="acceptance_failure",
        timeout_seconds=timeout,
        argv=["{launcher}", "-m", "pytest", "-q", "tests/test_hidden.py", "{sentinel}", "--junitxml={results}"],
        inject={"tests/test_hidden.py": "tests/test_hidden.py"},
        sentinel="pytest",
        expect_tests=["tests.test_hidden::test_doubles_two", "tests.test_hidden.TestMore::test_doubles_three"],
    )
    env = {"PYTHONPATH": "{project}/src", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    evaluation = Evaluation([sys.executable], [check], env=env)
    public = PublicTask(
        "t", 1, "t", "feature", "python", [PackedStep("solve", "x", 1)],
        generated=list(GENERATED), protected=list(DEFAULT_PROTECTED),
    )  # fmt: skip
    base, submission = written(tmp_path / "base", FIXTURE), written(tmp_path / "submission", FIXTURE | files)
    task = LocalTask(public, evaluation, {"tests/test_hidden.py": HIDDEN.encode()}, base)
    return evaluate_locally(task, submission, launcher=[sys.executable], wall_seconds=wall)


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_honest_work_passes_and_wrong_work_fails(tmp_path: Path) -> None:
    right = judge(tmp_path / "right", {"src/calc.py": RIGHT})
    wrong = judge(tmp_path / "wrong", {"src/calc.py": WRONG})

    assert (right.verdict, right.checks[0].tests_passed) == ("passed", 2)
    assert (wrong.verdict, wrong.checks[0].reason) == ("failed", "tests_failed")


FORGERIES = {
    "exit-at-import": "import os; os._exit(0)",
    "prints-passed": "print('2 passed in 0.01s'); print('PASSED')\n" + WRONG,
    "writes-results-and-exits": FIND_RESULTS + f"open(path, 'w').write({FORGED!r}); import os; os._exit(0)",
    "writes-results-and-exits-with-1": FIND_RESULTS + f"open(path, 'w').write({FORGED!r}); import os; os._exit(1)",
    "patches-the-runner": "import _pytest.python; _pytest.python.Function.runtest = lambda self: None\n" + WRONG,
    "patches-the-reports": "import _pytest.reports as r\n"
    "r.TestReport.outcome = property(lambda s: 'passed', lambda s, v: None)\n" + WRONG,
    "patches-unittest": "import unittest as u; u.TestCase.assertEqual = lambda *a: None\ndef double(x): return 4",
    "equal-to-everything": "class X:\n    __eq__ = lambda s, o: True\n    __hash__ = None\n"
    "import unittest; unittest.TestCase.run = lambda s, *a: None\ndef double(x): return X()",
    "symlinked-results": FIND_RESULTS
    + f"open(path + '.x', 'w').write({FORGED!r}); import os, atexit\n"
    + "atexit.register(lambda: (os.path.exists(path) and os.unlink(path), os.symlink(path + '.x', path)))\n" + WRONG,
    "fifo-as-results": FIND_RESULTS + "import os; os.mkfifo(path); os._exit(1)",
    "deletes-all-it-finds": "import shutil, os; shutil.rmtree(os.getcwd(), ignore_errors=True); os._exit(1)",
    "skips-its-tests": "import pytest; pytest.skip('not today', allow_module_level=True)",
    "kills-the-parent": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_code_that_forges_is_never_passed(tmp_path: Path, name: str) -> None:
    report = judge(tmp_path, {"src/calc.py": FORGERIES[name]})

    assert report.verdict == ("error" if name == "kills-the-parent" else "failed"), report.reason


def test_a_process_that_outlives_the_tests_cannot_rewrite_their_results(tmp_path: Path) -> None:
    code = (
        FIND_RESULTS
        + f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        while True:
            open(path, 'w').write({FORGED!r}); time.sleep(0.001)
    os._exit(0)
"""
    )
    report = judge(tmp_path, {"src/calc.py": code + WRONG})

    assert report.verdict == "failed"


PROTECTED_FILES = {
    "conftest.py": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    o = yield; r = o.get_result(); r.outcome = 'passed'\n",
    "tests/conftest.py": "collect_ignore = ['test_hidden.py']\n",
    "src/sitecustomize.py": "import os; os._exit(0)\n",
    "pytest.ini": "[pytest]\naddopts = --co\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p forge'\npythonpath = ['.']\n",
    "setup.cfg": "[tool:pytest]\naddopts = --co\n",
    "pytest.py": "import os; os._exit(0)\n",
    "src/__pycache__/calc.cpython-311.pyc": "not code",
}


@pytest.mark.parametrize("name", PROTECTED_FILES)
def test_files_that_decide_how_tests_run_are_removed_and_listed(tmp_path: Path, name: str) -> None:
    report = judge(tmp_path, {"src/calc.py": WRONG, name: PROTECTED_FILES[name], "forge.py": "import os; os._exit(0)"})

    assert report.verdict == "failed"
    assert report.checks[0].reason == "tests_failed"
    assert report.protected_touched == ([] if "__pycache__" in name else [name])


def test_endless_output_ends_at_the_deadline_and_is_bounded(tmp_path: Path) -> None:
    code = "import os\nwhile True: os.write(1, b'x' * 65536)"
    report = judge(tmp_path, {"src/calc.py": code}, timeout=2)

    assert (report.verdict, report.checks[0].reason) == ("failed", "timed_out")
    assert all(artifact.size < 2 * 1024 * 1024 for artifact in report.artifacts)


def test_code_cannot_reach_the_sealed_part_of_the_judge(tmp_path: Path) -> None:
    """Nothing but the injected test lies anywhere below the working folder while submitted code runs."""
    code = "import os, pathlib\nroot = pathlib.Path(os.getcwd()).parents[2]\n" + (
        "found = [p for p in root.rglob('*') if p.is_file() and b'double' in p.read_bytes() and p.suffix == '.py']\n"
        "assert {p.name for p in found} <= {'calc.py', 'test_hidden.py'}, found\n"
    )
    assert judge(tmp_path, {"src/calc.py": code + RIGHT}).verdict == "passed"


def test_a_check_cut_short_by_the_whole_evaluation_s_deadline_is_an_error(tmp_path: Path) -> None:
    report = judge(tmp_path, {"src/calc.py": "while True: pass"}, wall=3)

    assert (report.verdict, report.reason) == ("error", "evaluation_deadline: in behaviour, submission")
