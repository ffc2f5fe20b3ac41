"""What is judged: protected paths as the fixture has them; copies that no submission can lead astray."""

import os
from pathlib import Path

from fairtrial_evaluator.execute import Capture, environment, read_results
from fairtrial_evaluator.layout import restore_protected
from fairtrial_evaluator.trees import HeldTree, delete, place

PROTECTED, GENERATED = ["conftest.py", "tests/**", "**/__pycache__/**"], ["**/__pycache__/**"]


def tree(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_protected_paths_are_restored_and_listed(tmp_path: Path) -> None:
    base = tree(tmp_path / "base", {"tests/test_a.py": "1", "tests/conftest.py": "1", "src/a.py": "1"})
    mine = tree(
        tmp_path / "mine", {"tests/test_a.py": "2", "conftest.py": "x", "src/a.py": "2", "src/__pycache__/a.pyc": "x"}
    )

    touched = restore_protected(mine, base, PROTECTED, GENERATED)

    assert touched == ["conftest.py", "tests/conftest.py", "tests/test_a.py"]
    assert (mine / "tests/test_a.py").read_text() == "1"
    assert (mine / "src/a.py").read_text() == "2"
    assert not (mine / "conftest.py").exists()
    assert not (mine / "src/__pycache__/a.pyc").exists()


def test_a_folder_that_became_a_link_is_made_a_folder_again(tmp_path: Path) -> None:
    base = tree(tmp_path / "base", {"tests/test_a.py": "1"})
    mine = tree(tmp_path / "mine", {"src/a.py": "2"})
    (mine / "tests").symlink_to(tmp_path / "elsewhere")
    tree(tmp_path / "elsewhere", {"keep": "me"})

    assert restore_protected(mine, base, PROTECTED, GENERATED) == ["tests/test_a.py"]
    assert not (mine / "tests").is_symlink()
    assert [p.name for p in (tmp_path / "elsewhere").iterdir()] == ["keep"]


def test_a_project_that_is_gone_is_an_empty_one(tmp_path: Path) -> None:
    base = tree(tmp_path / "base", {"tests/test_a.py": "1"})

    restore_protected(tmp_path / "mine", base, PROTECTED, GENERATED)

    assert (tmp_path / "mine/tests/test_a.py").is_file()


def test_placing_a_file_follows_no_link(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", {"a": "file where a folder must be"})
    (root / "out").symlink_to(tmp_path)
    (root / "b").symlink_to(tmp_path / "target")

    for path in ("a/x", "out/x", "b"):
        place(root, path, b"new")

    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "target").exists()


def test_a_held_tree_does_not_change_with_its_folder(tmp_path: Path) -> None:
    source = tree(tmp_path / "source", {"src/a.py": "1"})
    held = HeldTree(source)
    (source / "src/a.py").write_text("2")
    (source / "conftest.py").write_text("evil")
    copy = tmp_path / "copy"
    copy.mkdir()

    held.lay_out(copy)

    assert (copy / "src/a.py").read_text() == "1"
    assert not (copy / "conftest.py").exists()
    assert held.contents(["src/**"]) == {"src/a.py": b"1"}
    assert list(held.digests(["*.py"])) == ["src/a.py"]
    held.close()


def test_results_are_read_from_plain_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "results"
    assert read_results(path) == ("missing", b"")
    path.symlink_to("/etc/passwd")
    assert read_results(path) == ("not_a_file", b"")
    path.unlink()
    os.mkfifo(path)
    assert read_results(path) == ("not_a_file", b"")
    path.unlink()
    path.write_bytes(b"x")
    assert read_results(path) == ("read", b"x")
    os.link(path, tmp_path / "second")
    assert read_results(path) == ("not_a_file", b"")


def test_long_output_keeps_head_and_tail_and_counts_all() -> None:
    capture = Capture(keep=10)
    for piece in (b"abc", b"defgh", b"i" * 1000, b"xyz"):
        capture.take(piece)

    facts, kept = capture.result()

    assert (facts.bytes_seen, facts.bytes_kept, facts.truncated) == (1011, 10, True)
    assert kept == b"abcde\n[1001 bytes left out]\niixyz"


def test_the_environment_holds_nothing_of_ours(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/evil")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")

    found = environment(tmp_path, {"PYTHONPATH": "src"})

    assert found["PYTHONPATH"] == "src"
    assert "AWS_SECRET_ACCESS_KEY" not in found


def test_folders_without_modes_are_deleted_too(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", {"a/b/c": "x"})
    (root / "a/b").chmod(0)

    delete(root)

    assert not root.exists()
