"""What well-known programs do with files, and which are test runners. Tables and the rules that read them. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.events.shell import Simple, Word, commands

# Exactly these count as test runs, and what an adapter adds: a command that merely holds the word test does not.
# `python` stands for python3 and python3.11 as well; a folder before the first word does not matter.
TEST_RUNNERS = (
    "pytest", "py.test", "python -m pytest", "python -m unittest", "python -m nose2", "nose2", "tox", "nox",
    "npm test", "npm t", "npm run test", "yarn test", "yarn run test", "pnpm test", "pnpm run test", "bun test",
    "deno test", "node --test", "jest", "vitest", "mocha", "ava", "tap", "playwright test", "go test", "gotestsum",
    "cargo test", "cargo nextest run", "make test", "mvn test", "mvn verify", "gradle test", "gradlew test",
    "dotnet test", "ctest", "bats", "rspec", "rake test", "bundle exec rspec", "phpunit", "mix test", "swift test",
    "zig build test", "bazel test", "lein test", "sbt test", "stack test", "cabal test",
)  # fmt: skip
_PYTHON = re.compile(r"python[0-9.]*|pypy3?")

# Programs whose output is the content of the files that they are given; for these options, the next word is no file.
_READERS: dict[str, str] = {
    "cat": "", "tac": "", "nl": "-b -w -s", "head": "-n -c", "tail": "-n -c", "less": "", "more": "", "bat": "-r -l",
    "batcat": "-r -l", "od": "-t -A -N -j", "xxd": "-l -s -c", "hexdump": "-n -s", "strings": "-n", "sort": "-k -t",
    "uniq": "-f -s", "cut": "-d -f -c", "fold": "-w", "column": "-s", "diff": "-U -C", "zcat": "", "rev": "",
}  # fmt: skip
# The same, but their first word is a script or a pattern unless an option gives it.
_SCRIPTED = {"sed": "-e -f -n", "awk": "-f -F -v", "gawk": "-f -F -v", "jq": "-f", "yq": ""}
_SEARCHERS = {"grep", "egrep", "fgrep", "rg", "ag", "ack"}
_SEARCH_VALUES = "-e -f -A -B -C -m -g -t -T --include --exclude --exclude-dir --glob --type --max-count --context"
_WRITERS = {"touch": "all", "tee": "all", "rm": "all", "truncate": "all", "mv": "all", "cp": "last", "install": "last"}
_PASSING_ON = {*_READERS, *_SCRIPTED, *_SEARCHERS, "tee"}  # at a pipeline's end, these still show what came in
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,1024})$|^\*\*\* Move to: (.{1,1024})$", re.MULTILINE)


@dataclass(frozen=True)
class Files:
    """Files that a command shows or changes. `unnamed`: that it surely does, but to files that it does not name."""

    direct: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    unnamed_reads: int = 0
    unnamed_writes: int = 0


@dataclass(frozen=True)
class TestRun:
    """One start of a test runner."""

    __test__ = False  # for pytest: no class of tests

    runner: str
    scope: str  # its other arguments
    exit: str  # see shell.Simple


def test_runs(line: str, extra: Sequence[str] = ()) -> list[TestRun]:
    """The test runners that a command line starts."""
    found = []
    for one in commands(line):
        words = [word.text for word in one.words]
        for runner in (*extra, *TEST_RUNNERS):
            if _begins(words, wanted := runner.split()):
                found.append(TestRun(runner, " ".join(words[len(wanted) :])[:512], one.exit))
                break
    return found


def files(line: str) -> Files:
    """The files that a command line shows and changes, as far as it names them."""
    direct: list[str] = []
    searched: list[str] = []
    written: list[str] = []
    reads = writes = 0
    folder = Word("")
    for one in commands(line):
        if one.program == "cd":
            folder = _joined(folder, one.words[1] if len(one.words) > 1 else Word("~", plain=False))
            continue
        shown, by_search = _shown(one)
        if not one.hidden and (not one.sink or one.sink in _PASSING_ON):
            found = [_joined(folder, word) for word in shown]
            (searched if by_search else direct).extend(word.text for word in found if word.plain)
            reads += sum(not word.plain for word in found)
        changed = [_joined(folder, word) for word in (*one.outputs, *_changed(one))]
        written += [word.text for word in changed if word.plain]
        writes += sum(not word.plain for word in changed)
    return Files(_unique(direct), _unique(searched), _unique(written), reads, writes)


def _joined(folder: Word, word: Word) -> Word:
    """A file as it is reached after `cd folder`; behind `cd $x`, nobody can tell."""
    if word.text.startswith("/") or not (folder.text or not folder.plain):
        return word
    return Word(f"{folder.text}/{word.text}", folder.plain and word.plain)


def searches(line: str) -> bool:
    """Whether the line starts a program that prints what it found as `path:line:text`."""
    return any(one.program in _SEARCHERS or _git(one) == "grep" for one in commands(line))


def _begins(words: list[str], wanted: list[str]) -> bool:
    if len(words) < len(wanted):
        return False
    first = words[0].rsplit("/", 1)[-1] if "/" not in wanted[0] else words[0]
    same = first == wanted[0] or (wanted[0] == "python" and _PYTHON.fullmatch(first) is not None)
    return same and words[1 : len(wanted)] == wanted[1:]


def _shown(one: Simple) -> tuple[list[Word], bool]:
    """The files whose content a command prints, and whether it prints what it found in them only."""
    arguments = list(one.words[1:])
    if one.program in _READERS:
        return [*_operands(arguments, _READERS[one.program]), *one.inputs], False
    if one.program in _SCRIPTED and not _in_place(one):
        given = any(word.text in ("-e", "-f", "--expression", "--file") for word in arguments)
        operands = _operands(arguments, _SCRIPTED[one.program].replace("-n", ""))
        return [*(operands if given else operands[1:]), *one.inputs], False
    if one.program in _SEARCHERS:
        given = any(word.text in ("-e", "-f", "--regexp", "--file") for word in arguments)
        listing = any(word.text in ("-l", "-L", "-c", "--files", "--files-with-matches", "-q") for word in arguments)
        operands = _operands(arguments, _SEARCH_VALUES)
        named = operands if given else operands[1:]
        return ([] if listing else [word for word in named if _looks_like_file(word)]), True
    if _git(one) in ("diff", "show", "blame") and any(word.text == "--" for word in arguments):
        after = [word.text for word in arguments].index("--")
        return arguments[after + 1 :], False
    return [], False


def _changed(one: Simple) -> list[Word]:
    arguments = list(one.words[1:])
    if one.program in _SCRIPTED and _in_place(one):
        given = any(word.text in ("-e", "-f") for word in arguments)
        operands = _operands(arguments, "-e -f")
        return operands if given else operands[1:]
    if one.program in _WRITERS:
        operands = _operands(arguments, "-s")
        return operands[-1:] if _WRITERS[one.program] == "last" else operands
    if one.program == "apply_patch":
        text = one.body or " ".join(word.text for word in arguments)
        return [Word(found.group(1) or found.group(2)) for found in _PATCHED.finditer(text)]
    if one.program == "patch" or _git(one) in ("apply", "checkout", "restore", "stash", "reset", "revert"):
        return [Word("", plain=False)]
    return []


def _git(one: Simple) -> str:
    return one.words[1].text if one.program == "git" and len(one.words) > 1 else ""


def _in_place(one: Simple) -> bool:
    return any(re.match(r"-[nEr]*i|--in-place", word.text) for word in one.words[1:])


def _operands(arguments: list[Word], with_value: str) -> list[Word]:
    """The words that are neither options nor the values of options that take one."""
    takes, found, skip, only = with_value.split(), [], False, False
    for word in arguments:
        if skip:
            skip = False
        elif word.text == "--" and not only:
            only = True
        elif not only and word.text.startswith("-") and len(word.text) > 1:
            skip = word.text in takes
        elif word.text not in ("-", ""):
            found.append(word)
    return found


def _looks_like_file(word: Word) -> bool:
    """A searcher's operand may be a folder, whose files the output names; a file's name has an ending."""
    return not word.plain or "." in word.text.rsplit("/", 1)[-1].strip(".")


def _unique(found: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
