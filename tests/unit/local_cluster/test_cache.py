"""Content keys decide what is built again: they must see what matters and nothing else."""

import os
from pathlib import Path

import pytest

from local_cluster import cache


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def folder(where: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)
    return where


def test_the_same_files_elsewhere_have_the_same_key(tmp_path: Path) -> None:
    here = folder(tmp_path / "a" / "part", {"main.py": "1", "sub/x.txt": "2"})
    there = folder(tmp_path / "b" / "part", {"sub/x.txt": "2", "main.py": "1"})

    assert cache.files_key([here]) == cache.files_key([there])


@pytest.mark.parametrize("change", ["content", "name", "executable", "new file"])
def test_a_change_that_matters_changes_the_key(tmp_path: Path, change: str) -> None:
    part = folder(tmp_path / "part", {"main.py": "1"})
    before = cache.files_key([part])

    match change:
        case "content":
            (part / "main.py").write_text("2")
        case "name":
            (part / "main.py").rename(part / "start.py")
        case "executable":
            (part / "main.py").chmod(0o755)
        case "new file":
            (part / "more.py").write_text("")

    assert cache.files_key([part]) != before


def test_touching_and_ignored_files_do_not_change_the_key(tmp_path: Path) -> None:
    part = folder(tmp_path / "part", {"main.py": "1", "deep/main.py": "2"})
    before = cache.files_key([part], ignored=["tests", ".git"])

    os.utime(part / "main.py", (1, 1))
    folder(part, {"tests/test_a.py": "", "deep/tests/test_b.py": "", ".git/HEAD": ""})

    assert cache.files_key([part], ignored=["tests", ".git"]) == before


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert cache.key("ab", "c") != cache.key("a", "bc")


def test_an_interrupted_entry_is_made_again() -> None:
    def interrupted(target: Path) -> None:
        (target / "half").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry("kind", "name", "key", interrupted)

    made = cache.entry("kind", "name", "key", lambda target: (target / "whole").touch())
    assert [file.name for file in made.iterdir()] == ["whole"]


def test_a_finished_entry_is_not_made_again_and_replaces_older_ones() -> None:
    old = cache.entry("kind", "name", "1", lambda target: None)
    new = cache.entry("kind", "name", "2", lambda target: None)

    assert not old.exists()
    assert cache.entry("kind", "name", "2", pytest.fail) == new
