"""A candidate: what is compared. Data only, so that adding a harness needs no change of Fairtrial."""

import re
from typing import Annotated, Literal

from pydantic import Field

from fairtrial.api.adapter import Adapter
from fairtrial.api.base import Argument, Argv, Glob, Image, Model, Name, Rule, matching, unique_names

FILES_MAX_CHARACTERS = 65536

FileName = Annotated[str, Field(min_length=1, max_length=128)]
HomePath = Annotated[str, Field(min_length=1, max_length=200)]
_FILE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_is_file_name = re.compile(_FILE_NAME).fullmatch
_HOME_PATH = r"(?:\.?[A-Za-z0-9_][A-Za-z0-9._-]*/){0,7}\.?[A-Za-z0-9_][A-Za-z0-9._-]*"
_is_home_path = re.compile(_HOME_PATH).fullmatch


def _total(what: str) -> Rule:
    """The rule that the texts of a map of files are not too long together."""
    return Rule(
        f"self.map(name, self[name].size()).sum() <= {FILES_MAX_CHARACTERS}",
        f"{what} must hold at most {FILES_MAX_CHARACTERS} characters together; put larger ones into the image.",
        lambda files: sum(map(len, files.values())) <= FILES_MAX_CHARACTERS,
    )


class EnvironmentVariable(Model):
    """One environment variable of the candidate's program. Not for secrets: the agent and the record hold it."""

    name: Annotated[
        str,
        Field(max_length=128),
        matching("[A-Za-z_][A-Za-z0-9_]*", "name of an environment variable must hold letters, digits and '_' only."),
        Rule(
            "!self.startsWith('FAIRTRIAL_')",
            "name of an environment variable must not start with FAIRTRIAL_, which the harness keeps for itself.",
            lambda name: not name.startswith("FAIRTRIAL_"),
        ),
    ]
    """Name of the variable."""
    value: Argument = ""
    """Value of the variable, taken as it is."""


class Candidate(Model):
    """What is compared: an agent, a harness, a tool, an arm; with the image and the configuration that pin it."""

    name: Name
    """Name of the candidate, by which results are grouped."""
    version: Annotated[str, Field(min_length=1, max_length=63)]
    """Version that reports show; the image's digest is what counts."""
    image: Image
    """Image of the candidate, by digest: any Linux image."""
    argv: Argv
    """Program and arguments of each step; no shell reads them. {prompt}, {taskFile}, {step}, {projectDir}, {modelUrl}
    and {model} are replaced."""
    env: Annotated[tuple[EnvironmentVariable, ...], Field(max_length=64), unique_names("two variables of env")] = ()
    """Environment variables of the program. Replaced are {modelUrl}, where the gateway takes model calls; {model}, the
    one that is pinned; {toolUrl}, where it takes calls of tools (/NAME follows); {modelToken}, the key for both."""
    stdin: Literal["none", "prompt"] = "none"
    """What the program reads on standard input: nothing, or the step's prompt."""
    files: Annotated[
        dict[FileName, Annotated[str, Field(max_length=FILES_MAX_CHARACTERS)]],
        Field(max_length=32),
        Rule(
            f"self.all(name, name.size() <= 128 && name.matches(r'^(?:{_FILE_NAME})$'))",
            "files must have plain names: at most 128 letters, digits, '.', '_' and '-', no folders.",
            lambda files: all(map(_is_file_name, files)),
        ),
        _total("files"),
    ] = Field(default_factory=dict)
    """Configuration files by name, laid out read-only in /fairtrial/candidate."""
    home_files: Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=200)], Annotated[str, Field(max_length=FILES_MAX_CHARACTERS)]
        ],
        Field(max_length=32),
        Rule(
            f"self.all(path, path.size() <= 200 && path.matches(r'^(?:{_HOME_PATH})$'))",
            "homeFiles must have relative paths of at most 8 plain names, such as .config/tool/settings.json.",
            lambda files: all(map(_is_home_path, files)),
        ),
        _total("homeFiles"),
    ] = Field(default_factory=dict)
    """Files that the program finds in its home folder, by relative path; it may change them. {modelUrl}, {model} and
    {modelToken} are replaced, as in env."""
    adapter: Adapter | None = None
    """How what the program prints becomes normalized events; without it the raw streams are kept all the same."""
    collect: Annotated[tuple[Glob, ...], Field(max_length=16)] = ()
    """Globs of files to keep as evidence when the program has ended, relative to its home folder, such as
    .codex/sessions/**; what the project holds is kept anyway."""
