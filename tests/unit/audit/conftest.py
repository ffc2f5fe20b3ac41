"""A good package in a folder, and one of which a test may change what it likes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairtrial.audit.verify import Result, verify
from tests.unit.audit.world import TRUST, good, written

Package = Callable[[dict[str, bytes]], Path]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package in which nothing is wrong."""
    return written(good(), tmp_path / "package")


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[dict[str, bytes]], Result]:
    """Verify a package that is given as files."""
    return lambda files: verify(written(files, tmp_path / "package"), TRUST)
