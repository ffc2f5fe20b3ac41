"""“Add an agent” of docs/agents.md, followed to the letter in a copy of the checkout: its files and its commands."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo.install import ROOT, Target, install
from tests.pages import follow

PAGE = (ROOT / "docs" / "agents.md").read_text().partition("\n## Add an agent\n")[2]
FILES = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path, installed: Target) -> Iterator[Path]:
    """What git knows of the working tree; `make` gives it an environment of its own.

    `make demo` in it installs the chart with keys and values of its own, so that the other tests' are put back.
    """
    copy = tmp_path / "fairtrial"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    yield copy
    install(installed)


@pytest.mark.skipif(not shutil.which("npm"), reason="the page wants npm, to pin what it installs")
def test_an_agent_that_nobody_here_knew_is_added_by_the_page_alone(checkout: Path) -> None:
    assert len(FILES) == 4
    for name, text in FILES:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)

    environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    said = [follow(commands, checkout, environ) for commands in COMMANDS]

    assert len(said) == 3
    assert re.search(r"qwen-code-parse-defect\s+passed\s+all_checks_passed", said[1]), said[1]
    assert "4 calls, 4 results" in said[2]
