"""What programs a shell command line starts: enough of the shell's grammar to name them, and nothing is run. Pure.

Read: quotes, escapes, comments, `;`, `&&`, `||`, `|`, `&`, newlines, redirections, here-documents, and commands in
`bash -c '…'`, subshells and behind `env`, `timeout` and their like. Not followed: variables, globs, `$(…)`, functions;
a word that holds one of them is known to be not plain.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

MAX_LENGTH = 16 * 1024  # of a line that is read at all
MAX_COMMANDS = 256
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
_NESTED_MAX = 3
_KEYWORDS = ("if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "command", "nohup", "sudo")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OPERATORS = ("&&", "||", "|&", ";;", ";", "|", "&", "(", ")", "\n")
_REDIRECTION = re.compile(r"[0-9]{0,2}(?:<<<|<<-|<<|&>>|&>|>>|>\||>&|<&|<>|<|>)")

Exit = Literal["own", "if_zero", "unknown"]


@dataclass(frozen=True)
class Word:
    """One argument. Not plain: what the program gets differs from `text`, since the shell expands it first."""

    text: str
    plain: bool = True


@dataclass(frozen=True)
class Simple:
    """One program with its arguments."""

    words: tuple[Word, ...]
    inputs: tuple[Word, ...] = ()  # files that it reads by redirection
    outputs: tuple[Word, ...] = ()  # files that it writes by redirection
    body: str = ""  # here-document
    sink: str = ""  # the last program of its pipeline; "" if it is that itself
    hidden: bool = False  # the pipeline's output goes into a file
    exit: Exit = "unknown"  # whether the line's exit code is this program's

    @property
    def program(self) -> str:
        """Name of the program, without its folder."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""


@dataclass
class _Draft:
    words: list[Word] = field(default_factory=list)
    inputs: list[Word] = field(default_factory=list)
    outputs: list[Word] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    after: str = ""  # the operator that ends it


def commands(line: str, depth: int = 0) -> list[Simple]:
    """The simple commands of a line, in order; none if the line is too long to be read."""
    if len(line) > MAX_LENGTH or len(drafts := _Reader(line).drafts()) > MAX_COMMANDS:
        return []
    made: list[Simple] = []
    for number, draft in enumerate(drafts):
        pipeline = draft
        for later in drafts[number:]:
            pipeline = later
            if later.after not in ("|", "|&"):
                break
        words = tuple(_unwrapped(draft.words))
        one = Simple(
            words,
            tuple(draft.inputs),
            tuple(draft.outputs),
            "".join(draft.bodies),
            sink="" if pipeline is draft else _program(pipeline),
            hidden=bool(pipeline.outputs),
            exit=_exit(draft, drafts[number + 1 :]),
        )
        inner = _inner(one)
        if inner is not None and depth < _NESTED_MAX:
            made += [_inside(found, one) for found in commands(inner, depth + 1)]
        elif words or one.outputs:
            made.append(one)
    return made


def _program(draft: _Draft) -> str:
    return Simple(tuple(_unwrapped(draft.words))).program


def _exit(draft: _Draft, later: list[_Draft]) -> Exit:
    """A line ends with the code of its last pipeline's last program; behind `&&` there is more only after a zero."""
    if draft.after in ("|", "|&", "&", "||"):
        return "unknown"
    if not any(one.words for one in later):
        return "own"
    joined = [draft.after, *(one.after for one in later[:-1])]
    return "if_zero" if draft.after == "&&" and all(after in ("&&", "|", "|&") for after in joined) else "unknown"


def _inside(found: Simple, outer: Simple) -> Simple:
    """A command of `bash -c`: what holds of the shell holds of it."""
    both = {found.exit, outer.exit}
    code: Exit = "unknown" if "unknown" in both else "if_zero" if "if_zero" in both else "own"
    return replace(found, exit=code, sink=found.sink or outer.sink, hidden=found.hidden or outer.hidden)


def _inner(one: Simple) -> str | None:
    """The command line that a shell was given as an argument, if this is a shell that was."""
    if one.program not in _SHELLS:
        return None
    for option, text in zip(one.words[1:], one.words[2:], strict=False):
        if option.text.startswith("-") and not option.text.startswith("--") and option.text.endswith("c"):
            return text.text
    return None


def _unwrapped(words: list[Word]) -> Iterator[Word]:
    """The words from the program on that is meant in the end: behind `env A=b`, `timeout 60`, `cd`-less prefixes."""
    rest = list(words)
    while rest:
        text = rest[0].text
        program = text.rsplit("/", 1)[-1]
        if _ASSIGNMENT.match(text) or program in _KEYWORDS:
            rest = rest[1:]
        elif program in ("env", "nice", "stdbuf", "ionice"):
            rest = _past_options(rest[1:])
        elif program == "timeout":
            rest = _past_options(rest[1:])[1:]
        elif program in ("npx", "bunx"):
            rest = _past_options(rest[1:])
        elif program in ("uv", "poetry", "pipenv", "hatch", "pdm") and len(rest) > 1 and rest[1].text == "run":
            rest = _past_options(rest[2:])
        else:
            break
    yield from rest


def _past_options(words: list[Word]) -> list[Word]:
    while words and words[0].text.startswith("-"):
        takes_value = words[0].text in ("-n", "-k", "-s", "-u", "-C", "--signal", "--kill-after", "-p", "--package")
        words = words[2:] if takes_value else words[1:]
    return words


class _Reader:
    """Reads one line into drafts, character by character, each once."""

    def __init__(self, line: str) -> None:
        self._line, self._at = line, 0
        self._made: list[_Draft] = [_Draft()]
        self._waiting: list[tuple[_Draft, str, bool]] = []  # here-documents whose text begins on the next line

    def drafts(self) -> list[_Draft]:
        line = self._line
        while self._at < len(line):
            if line.startswith("\\\n", self._at):
                self._at += 2
            elif line[self._at] in " \t\r":
                self._at += 1
            elif line[self._at] == "#":
                end = line.find("\n", self._at)
                self._at = len(line) if end < 0 else end
            elif found := _REDIRECTION.match(line, self._at):
                self._redirection(found.group().lstrip("0123456789"), found.end())
            elif operator := next((one for one in _OPERATORS if line.startswith(one, self._at)), ""):
                self._end(operator)
            else:
                self._made[-1].words.append(self._word())
        return [draft for draft in self._made if draft.words or draft.outputs or draft.inputs]

    def _end(self, operator: str) -> None:
        self._at += len(operator)
        if operator == "\n":
            self._here_documents()
        draft = self._made[-1]
        if draft.words or draft.outputs or draft.inputs:
            draft.after = operator
            self._made.append(_Draft())

    def _redirection(self, operator: str, after: int) -> None:
        self._at = after
        while self._at < len(self._line) and self._line[self._at] in " \t":
            self._at += 1
        target = self._word()
        draft = self._made[-1]
        if operator in ("<<", "<<-"):
            self._waiting.append((draft, target.text, operator == "<<-"))
        elif operator in (">&", "<&") and (target.text.isdigit() or target.text == "-"):
            return  # 2>&1: another stream, not a file
        elif operator == "<":
            draft.inputs.append(target)
        elif operator not in ("<<<", "<&") and target.text != "/dev/null":
            draft.outputs.append(target)

    def _here_documents(self) -> None:
        for draft, word, dedent in self._waiting:
            while self._at < len(self._line):
                end = self._line.find("\n", self._at)
                end = len(self._line) if end < 0 else end
                text = self._line[self._at : end]
                self._at = end + 1
                if (text.lstrip("\t") if dedent else text) == word:
                    break
                draft.bodies.append(text + "\n")
        self._waiting = []

    def _word(self) -> Word:
        line, parts, plain = self._line, [], True
        while self._at < len(line):
            char = line[self._at]
            if char == "'":
                end = line.find("'", self._at + 1)
                end = len(line) if end < 0 else end
                parts.append(line[self._at + 1 : end])
                self._at = end + 1
            elif char == '"':
                text, same = self._quoted()
                parts.append(text)
                plain = plain and same
            elif char == "\\":
                parts.append(line[self._at + 1 : self._at + 2])
                self._at += 2
            elif char in " \t\r\n;|&()<>":
                break
            elif char == "`" or line.startswith("$(", self._at):
                parts.append(self._substitution())
                plain = False
            else:
                plain = plain and char not in "$*?[" and not (char == "~" and not parts)
                parts.append(char)
                self._at += 1
        return Word("".join(parts), plain)

    def _quoted(self) -> tuple[str, bool]:
        line, parts, plain = self._line, [], True
        self._at += 1
        while self._at < len(line) and line[self._at] != '"':
            if line[self._at] == "\\" and line[self._at + 1 : self._at + 2] in ("\\", '"', "$", "`", "\n"):
                self._at += 1
            elif line[self._at] in "$`":
                plain = False
            parts.append(line[self._at : self._at + 1])
            self._at += 1
        self._at += 1
        return "".join(parts), plain

    def _substitution(self) -> str:
        """Past `$(…)` or a pair of backticks; its text is not followed."""
        start, line = self._at, self._line
        if line[start] == "`":
            end = line.find("`", start + 1)
            self._at = len(line) if end < 0 else end + 1
            return line[start : self._at]
        depth = 0
        for at in range(start + 1, len(line)):
            depth += {"(": 1, ")": -1}.get(line[at], 0)
            if depth == 0:
                self._at = at + 1
                return line[start : self._at]
        self._at = len(line)
        return line[start:]
