"""A candidate: what is compared. Data only, so that adding a harness needs no change of Fairtrial."""

import re
from typing import Annotated, Literal

from pydantic import Field

from fairtrial.api.base import Argument, Argv, Image, Model, Name, Rule, matching, unique_names

FILES_MAX_CHARACTERS = 65536

FileName = Annotated[str, Field(min_length=1, max_length=128)]
_FILE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_is_file_name = re.compile(_FILE_NAME).fullmatch


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
    """Program and arguments of each step; no shell reads them. {prompt}, {taskFile}, {step} and {projectDir} are
    replaced."""
    env: Annotated[tuple[EnvironmentVariable, ...], Field(max_length=64), unique_names("two variables of env")] = ()
    """Environment variables of the program."""
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
        Rule(
            f"self.map(name, self[name].size()).sum() <= {FILES_MAX_CHARACTERS}",
            f"files must hold at most {FILES_MAX_CHARACTERS} characters together; put larger ones into the image.",
            lambda files: sum(map(len, files.values())) <= FILES_MAX_CHARACTERS,
        ),
    ] = Field(default_factory=dict)
    """Configuration files by name, laid out read-only in /fairtrial/candidate."""
