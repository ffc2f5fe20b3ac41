"""A program whose module has a mistake is built from a mended copy; nobody else's files change."""

import json
from pathlib import Path

import pytest

from local_cluster import binaries

PUBLISHED = "package informer\n\nconst version = 0\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program's folder, and the module that it is built from."""
    module, source = tmp_path / "modules" / "example.org" / "simulator@v1.0.0", tmp_path / "binaries" / "simulator"
    for folder in (module / "pkg", source):
        folder.mkdir(parents=True)
    (module / "pkg" / "watch.go").write_text(PUBLISHED)
    (source / "go.mod").write_text("module example.org/build\n")
    (source / "go.sum").write_text("")
    monkeypatch.setattr(binaries, "module", lambda *_: module)
    return source


def mend(source: Path, published: str) -> None:
    """Ask for one place to be replaced."""
    wanted = {
        "module": "example.org/simulator",
        "file": "pkg/watch.go",
        "published": published,
        "mended": "version = 1",
    }
    (source / "mended.json").write_text(json.dumps(wanted))


def test_it_is_built_where_it_is_described(source: Path) -> None:
    with binaries._mended(source) as folder:
        assert folder == source


def test_what_is_to_be_mended_is_mended_in_a_copy(source: Path) -> None:
    mend(source, "version = 0")

    with binaries._mended(source) as folder:
        assert (folder / "mended" / "pkg" / "watch.go").read_text() == PUBLISHED.replace("0", "1")
        assert (folder / "go.mod").read_text().endswith("\nreplace example.org/simulator => ./mended\n")
    assert (source / "go.mod").read_text() == "module example.org/build\n"
    assert (binaries.module(source, "") / "pkg" / "watch.go").read_text() == PUBLISHED


@pytest.mark.parametrize("published", ["version = 7", "o"])
def test_a_module_that_has_changed_is_not_mended_by_guess(source: Path, published: str) -> None:
    mend(source, published)

    with pytest.raises(binaries.ProgramNotBuilt, match=r"mended\.json: pkg/watch\.go"), binaries._mended(source):
        pass
