"""The normalized difference: git applies it, nothing is dropped, and nobody can keep it busy."""

import io
import os
import subprocess
import time
from pathlib import Path

import pytest
from fairtrial_runner import diff
from fairtrial_runner.diff import quoted, write_diff
from fairtrial_runner.lines import Effort, changes
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial import archive


def stored(path: Path, contents) -> Path:
    with path.open("wb") as sink:
        archive.pack(contents, sink)
    return path


def difference(folder: Path, old, new, generated=()):
    sink = io.BytesIO()
    counts = write_diff(stored(folder / "old.tar", old), stored(folder / "new.tar", new), generated, sink)
    return counts, sink.getvalue()


TEXTS = [
    (b"one\ntwo\nthree\n", b"one\n2\nthree\n"),
    (b"one\r\ntwo\r\n", b"one\r\ntwo\n"),
    (b"no newline", b"no newline\n"),
    (b"a\n", b"a"),
    (b"", b"x\n"),
    (b"latin \xe4\n", b"latin \xf6\n"),
    (b"".join(b"%d\n" % i for i in range(100)), b"".join(b"%d\n" % i for i in range(100) if i not in (3, 50, 51))),
    (b"a\rb\n", b"a\x0bb\x0cc\n"),
]


@pytest.mark.parametrize(("old", "new"), TEXTS)
def test_git_applies_it(old, new, tmp_path):
    _, patch = difference(tmp_path, {"p/changed": old, "p/gone": old}, {"p/changed": new, "p/added file": new})
    work = tmp_path / "work"
    work.mkdir()
    archive.extract([(tmp_path / "old.tar").read_bytes()], work)

    subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=work, input=patch, check=True)

    assert (work / "p/changed").read_bytes() == new
    assert (work / "p/added file").read_bytes() == new
    assert not (work / "p/gone").exists()


def test_the_same_archives_give_the_same_bytes(tmp_path):
    old, new = {"b": b"1\n", "a": b"1\n"}, {"a": b"2\n", "c": b"3\n"}

    assert difference(tmp_path, old, new) == difference(tmp_path, old, new)


def test_files_that_are_no_text_are_told_by_size_and_digest(tmp_path):
    counts, patch = difference(tmp_path, {"bin": b"\0old"}, {"bin": b"\0newer", "big": b"x\n" * 1_000_000})

    assert (counts.binary, counts.added, counts.modified) == (2, 1, 1)
    assert b"# not shown: bin: 4 bytes sha256:" in patch and b"-> 2000000 bytes sha256:" in patch


def test_generated_files_are_apart_and_never_dropped(tmp_path):
    new = {"project/pkg/__pycache__/a.pyc": b"x", "project/src.py": b"y\n"}

    counts, patch = difference(tmp_path, {}, new, ["**/__pycache__/**"])

    assert (counts.added, counts.generated, counts.paths) == (1, 1, ["project/src.py"])
    assert b"# generated: project/pkg/__pycache__/a.pyc: absent -> 1 bytes" in patch


def test_links_and_modes_are_changes_too(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run").write_text("x\n")
    (tmp_path / "new/run").chmod(0o755)
    (tmp_path / "old/was").write_text("file\n")
    (tmp_path / "new/was").symlink_to("run")

    counts, patch = difference(tmp_path, {"": tmp_path / "old"}, {"": tmp_path / "new"})

    assert counts.paths == ["run", "was"]
    assert b"old mode 100644\nnew mode 100755\n" in patch
    assert b"deleted file mode 100644" in patch and b"new file mode 120000" in patch


def test_odd_names_are_quoted_as_git_does():
    assert quoted(b"a/", 'ü\n\udcff"') == b'"a/\\303\\274\\n\\377\\""'
    assert quoted(b"a/", "plain name") == b"a/plain name"


@given(
    st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=30),
    st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=30),
)
@settings(max_examples=300, deadline=None)
def test_the_blocks_turn_one_text_into_the_other(old, new):
    made, at = [], 0
    for block in changes(old, new):
        made += old[at : block.i1] + new[block.j1 : block.j2]
        at = block.i2
    assert made + old[at:] == new


def test_texts_made_to_be_slow_are_not():
    old = [b"%d" % (i * 7919 % 5000) for i in range(20000)]
    new = [b"%d" % (i * 104729 % 5000) for i in range(20000)]
    began = time.process_time()

    assert changes(old, new)

    assert time.process_time() - began < 10


def test_many_texts_made_to_be_slow_share_one_effort():
    old = [b"%d" % i for i in range(900)]
    new = [b"x" if i % 3 == 1 else line for i, line in enumerate(old)]
    effort = Effort(100_000)

    assert len(changes(old, new)) == 300
    assert changes(old, new, effort) == [(1, 899, 1, 899)]
    assert effort.left <= 0
    assert changes([b"a", b"b", b"c"], [b"a", b"c"], effort) == [(1, 2, 1, 1)], "common ends are seen without effort"
    assert changes([b"a", b"b", b"c", b"d"], [b"b", b"d", b"d"], effort) == [(0, 3, 0, 2)]


def test_a_patch_is_bounded_whatever_a_tree_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(diff, "_OUTPUT_MAX", 20_000)
    monkeypatch.setattr(diff, "_LINES_MAX", 40_000)
    new = {f"{number:04}-{'n' * 150}/{'m' * 150}": b"x\n" for number in range(300)}

    counts, patch = difference(tmp_path, {}, {**new, "generated/x": b"x"}, ["generated/**"])

    assert len(patch) < 45_000
    assert (counts.added, counts.generated) == (300, 1)
    assert counts.left_out > 200 and patch.endswith(b"# %d more paths: the difference is too long\n" % counts.left_out)


def test_a_change_of_few_lines_is_found_as_such():
    old = [b"%d" % i for i in range(50_000)]
    new = [*old[:10], b"new", *old[10:40_000], *old[40_005:]]

    assert changes(old, new) == [(10, 10, 10, 11), (40_000, 40_005, 40_001, 40_001)]


def test_hostile_names_in_the_snapshot_do_no_harm(tmp_path):
    stored(tmp_path / "old.tar", {})
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / os.fsdecode(b"\xff\n")).write_text("x\n")
    with (tmp_path / "new.tar").open("wb") as sink:
        archive.snapshot(tree, sink, max_bytes=1 << 20)
    out = io.BytesIO()

    counts = write_diff(tmp_path / "old.tar", tmp_path / "new.tar", [], out)

    assert counts.paths == ["\ufffd\ufffd"]
    assert b'+++ "b/\\377\\n"\n' in out.getvalue()
