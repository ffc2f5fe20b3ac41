"""Commands of a page, carried out as its reader would."""

import subprocess
from collections.abc import Mapping
from pathlib import Path


def follow(commands: str, folder: Path, environ: Mapping[str, str]) -> str:
    """What the commands say in `folder`; each of them must succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout
