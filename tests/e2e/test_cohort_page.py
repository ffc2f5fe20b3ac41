"""“From question to sealed cohort”, docs/cohorts.md, followed to the letter: from a file to a cohort given up."""

import json
import os
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo import __main__ as demo
from examples.demo import cohorts
from examples.demo.install import ROOT, Target
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cohort import preregistration
from fairtrial.evidence import layout
from tests.e2e.conftest import World, make_namespace
from tests.pages import follow

PAGE = (ROOT / "docs" / "cohorts.md").read_text()
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def mine(installed: Target) -> Iterator[World]:
    """A namespace that knows no cohort of that name, with every example task pushed."""
    namespace = f"e2e-page-{uuid.uuid4().hex[:6]}"
    make_namespace(Kubectl(), namespace)
    demo.push_tasks(installed, namespace)
    yield World(installed, namespace)
    Kubectl().run("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def folder(mine: World, tmp_path: Path) -> Path:
    """Where the reader of the page is: beside the examples, with a table of images and nothing else."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "images.json").write_text(json.dumps(mine.target.images))
    return tmp_path


def test_the_page_leads_from_a_file_to_a_sealed_cohort_and_to_its_end(mine: World, folder: Path) -> None:
    assert len(COMMANDS) == 5

    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = os.environ | {"NS": mine.namespace, "PATH": here, "PYTHONPATH": str(folder)}
    _, planned, sealed, held, _ = [follow(commands, folder, environ) for commands in COMMANDS]

    live = mine.kubectl.get(cohorts.KIND, "paired")
    status, (digest,) = live["status"], set(re.findall(r"\b[0-9a-f]{64}\b", planned))
    assert (digest, status["scheduleSha256"]) == (status["scheduleSha256"], digest)
    assert len(re.findall(r"^\d+ +paired-\d{5} ", planned, re.MULTILINE)) == 100
    assert digest in sealed.splitlines()
    assert f"{status['preregistrationUri']} {status['preregistrationSha256']}" in sealed.splitlines()
    data = mine.store.get(layout.key_of_uri(status["preregistrationUri"]))
    assert layout.sha256(data) == status["preregistrationSha256"]
    assert preregistration.verify(data) == []
    assert re.search(r"^NAME +STAGE +SEALED +PHASE .*\npaired +confirmatory +True ", held, re.MULTILINE), held
    assert (status["phase"], status["counts"]["scheduled"]) == ("Cancelled", 100)
    assert sum(status["counts"].values()) == 200, "every run is somewhere, once"
