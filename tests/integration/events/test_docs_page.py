"""docs/adapters.md, followed word for word: its files are written, its commands run, what it promises is looked for."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from fairtrial.api import Candidate
from fairtrial.api.adapter import Adapter

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "adapters.md").read_text()
EXAMPLE = REPOSITORY / "examples" / "adapters" / "scribe"
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    language: str
    file: str
    text: str


BLOCKS = [Block(found[1], found[2] or "", found[3]) for found in _BLOCK.finditer(PAGE)]


def test_the_page_can_be_followed_word_for_word(tmp_path):
    folder = tmp_path / "scribe"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("candidate.yaml"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said, followed = "", 0
    for block in BLOCKS:
        if block.file:
            (folder / block.file).write_text(block.text)
        elif block.language == "sh":
            env = os.environ | {"PATH": path}
            command = ["sh", "-euc", block.text]
            ended = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stdout + ended.stderr
            said = ended.stdout
        elif block.language == "text":
            missing = [line for line in block.text.splitlines() if line not in said]
            assert missing == [], said
            followed += 1
    assert followed == 5


def test_the_files_of_the_page_are_those_of_the_example():
    written = {block.file: block.text for block in BLOCKS if block.file}

    assert written["candidate.yaml"] == (EXAMPLE / "candidate.yaml").read_text()


def test_the_bundles_of_the_page_are_candidates():
    for block in BLOCKS:
        raw = yaml.safe_load(block.text) if block.language == "yaml" else {}
        if "adapter" in raw:
            Adapter.model_validate(raw["adapter"]).to_plan()
        if "argv" in raw:
            rest = {key: value for key, value in raw.items() if key != "filesFrom"}
            Candidate.model_validate(rest | {"image": f"localhost/fairtrial/python@sha256:{'0' * 64}"})


def test_the_page_names_every_word():
    from fairtrial.events import model

    for word in (*model.RULE_KINDS, *model.CAPABILITIES, *model.STATUSES):
        assert f"`{word}`" in PAGE, word
