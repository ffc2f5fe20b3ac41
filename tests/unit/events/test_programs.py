"""Command lines: which programs they start, which files those show and change, which are tests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.events import programs, shell
from fairtrial.events.citing import diagnosed, searched


@pytest.mark.parametrize(
    ("line", "direct", "written"),
    [
        ("cat a b", ["a", "b"], []),
        ("/bin/bash -lc 'cat calc.py'", ["calc.py"], []),
        ("cat -n 'a b.py' | head -5", ["a b.py"], []),
        ("cat a | wc -l", [], []),
        ("cat a > b", [], ["b"]),
        ("cat a | python3 count.py", [], []),
        ("head -n 5 a; tail -n +3 b", ["a", "b"], []),
        ("sed -n '1,10p' src/x.py", ["src/x.py"], []),
        ("sed -i 's/a/b/' x.py", [], ["x.py"]),
        ("sed -i -e 's/a/b/' x.py y.py", [], ["x.py", "y.py"]),
        ("cat <<'EOF' > new.py\nimport os\ncat zzz\nEOF\n", [], ["new.py"]),
        ("cat <<-EOF >> a\n\tx\n\tEOF\ncat b", ["b"], ["a"]),
        ("cd src && cat a.py", ["src/a.py"], []),
        ("cd $WHERE && cat a.py", [], []),
        ("tee out.txt < in.txt", [], ["out.txt"]),
        ("mv a b", [], ["a", "b"]),
        ("cp a b", [], ["b"]),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a/b.py\n@@\n*** Add File: c\nEOF",
            [],
            ["a/b.py", "c"],
        ),
        ("FOO=1 env BAR=2 timeout -k 5 60 cat a", ["a"], []),
        ("git diff -- a.py", ["a.py"], []),
        ("ls src; find . -name '*.py'", [], []),
        ("echo 'cat a' # cat b", [], []),
        ("cat a 2>/dev/null", ["a"], []),
        ("if true; then cat a; fi", ["a"], []),
        ("diff a.py b.py", ["a.py", "b.py"], []),
        ("jq . package.json", ["package.json"], []),
        ("cat - < a", ["a"], []),
    ],
)
def test_files_of_a_command_line(line, direct, written):
    found = programs.files(line)

    assert (list(found.direct), list(found.written)) == (direct, written)


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("cat $f", 1, 0),
        ("cat *.py a", 1, 0),
        ("cat $(ls)", 1, 0),
        ("cd $X; cat a", 1, 0),
        ("echo > $f", 0, 1),
        ("git apply x", 0, 1),
    ],
)
def test_a_file_that_is_not_named_is_unattributed_and_not_guessed(line, reads, writes):
    found = programs.files(line)

    assert (found.unnamed_reads, found.unnamed_writes) == (reads, writes)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("grep -n x a.py b.py", ["a.py", "b.py"]),
        ("grep -rn x src", []),
        ("rg -e x a.py", ["a.py"]),
        ("grep -l x a.py", []),
    ],
)
def test_files_that_are_searched(line, found):
    assert list(programs.files(line).searched) == found and programs.searches(line)


@pytest.mark.parametrize(
    ("line", "runner", "scope", "whose"),
    [
        ("pytest", "pytest", "", "own"),
        ("cd x && python3.11 -m pytest -q tests/test_a.py", "python -m pytest", "-q tests/test_a.py", "own"),
        ("./node_modules/.bin/jest a", "jest", "a", "own"),
        ("npm test -- --watch=false; echo $?", "npm test", "-- --watch=false", "unknown"),
        ("npm run test", "npm run test", "", "own"),
        ("node --test", "node --test", "", "own"),
        ("(cd a && go test ./...)", "go test", "./...", "own"),
        ("cargo test | tail -3", "cargo test", "", "unknown"),
        ("make test || true", "make test", "", "unknown"),
        ("pytest && echo fine", "pytest", "", "if_zero"),
        ("pytest && a; b", "pytest", "", "unknown"),
        ("bash -c 'tox -e py' && ls", "tox", "-e py", "if_zero"),
        ("uv run pytest -x", "pytest", "-x", "own"),
        ("CI=1 npx vitest run", "vitest", "run", "own"),
        ("./run-tests fast", "./run-tests", "fast", "own"),
    ],
)
def test_test_runners_are_known_and_whose_exit_code_it_is(line, runner, scope, whose):
    (run,) = programs.test_runs(line, ["./run-tests"])

    assert (run.runner, run.scope, run.exit) == (runner, scope, whose)


@pytest.mark.parametrize(
    "line",
    ["python3 test_calc.py", "git commit -m 'make test'", "echo pytest", "cat test.py", "pip install pytest", "npm"],
)
def test_the_word_test_alone_makes_no_test(line):
    assert programs.test_runs(line) == []


@given(st.text("ab'\"\\ \n;|&$()<>`#=-", max_size=60))
@settings(max_examples=500)
def test_any_line_is_read(line):
    shell.commands(line)
    programs.files(line)


@pytest.mark.parametrize("line", ["a|" * 8000, "(" * 16000, "$(" * 8000, "<<" * 8000, "'" * 15999, "x" * 1_000_000])
def test_hostile_lines_take_no_time(line):
    assert len(shell.commands(line)) <= shell.MAX_COMMANDS


def test_what_an_output_shows_lines_of():
    assert searched("a.py:3:x\nsrc/b.py-4-y\nb: no\na.py:9:z\n") == ("a.py",)
    output = 'Traceback:\n  File "m/a.py", line 3, in f\n  File "<stdin>", line 1\nsrc/x.ts(3,4): error\n'
    assert diagnosed(output + "lib.c:1:2: warning: z\n --> src/main.rs:4:5\n") == (
        "m/a.py",
        "src/x.ts",
        "lib.c",
        "src/main.rs",
    )
    assert searched("\n" * 100_000 + "a" * 200_000) == () and diagnosed(("x" * 299 + "\n") * 5000) == ()
