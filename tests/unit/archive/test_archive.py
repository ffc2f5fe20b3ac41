"""Archives: equal folders, equal bytes; nothing gets out; nothing hostile stops a snapshot."""

import io
import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial import archive
from fairtrial.archive import Limits, Member
from fairtrial.archive.walk import Walk
from fairtrial.archive.writer import Writer
from fairtrial.errors import DigestMismatch, UnsafeArchive


def packed(contents) -> bytes:
    sink = io.BytesIO()
    archive.pack(contents, sink)
    return sink.getvalue()


def state(tree: Path) -> str:
    return archive.tree_digest(archive.inventory(tree).values())


def written(*members: tuple[Member, bytes]) -> bytes:
    """An archive that nobody checked."""
    sink = io.BytesIO()
    writer = Writer(sink)
    for member, content in members:
        writer.add(member, [content])
    writer.close()
    return sink.getvalue()


def foreign(change, form=tarfile.PAX_FORMAT) -> bytes:
    """An archive of another tool, with one member that `change` made what it is."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=form) as tar:
        info = tarfile.TarInfo("member")
        change(info)
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    return sink.getvalue()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "a" / "empty").mkdir(parents=True)
    (root / "a" / "x.txt").write_text("hi")
    (root / "a.b").write_text("z")
    (root / "run.sh").write_text("#!")
    (root / "run.sh").chmod(0o700)
    (root / ("n" * 150)).write_bytes(b"long")
    (root / "ü").write_text("u")
    (root / "link").symlink_to("a/x.txt")
    return root


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def test_equal_folders_give_equal_bytes_whatever_their_times_and_modes(tree, target):
    first = packed({"": tree})
    archive.extract([first], target)
    for path in target.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1, 1))
    (target / "a.b").chmod(0o640)

    assert packed({"": target}) == first


def test_a_snapshot_of_a_harmless_tree_is_its_pack(tree):
    sink = io.BytesIO()
    archive.snapshot(tree, sink, max_bytes=1 << 20)

    assert sink.getvalue() == packed({"": tree})


def test_what_is_extracted_is_what_was_packed_and_other_tools_read_it(tree, target):
    data = packed({"": tree})

    archive.extract([data[i : i + 700] for i in range(0, len(data), 700)], target)

    assert state(target) == state(tree)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert sorted(tar.getnames()) == sorted(archive.inventory(tree))
        assert {info.mtime for info in tar} == {0}


def test_the_digest_of_a_tree_is_the_digest_of_its_archive(tree, tmp_path):
    file = tmp_path / "x.tar"
    file.write_bytes(packed({"": tree}))

    assert archive.tree_digest(archive.index(file).values()) == state(tree)


def test_contents_are_found_by_their_offset(tree, tmp_path):
    file = tmp_path / "x.tar"
    file.write_bytes(packed({"": tree}))

    with file.open("rb") as opened:
        assert archive.content(opened, archive.index(file)["n" * 150], at_most=100) == b"long"


def test_a_wrong_digest_is_refused(tree, target):
    with pytest.raises(DigestMismatch):
        archive.extract([packed({"": tree})], target, sha256="0" * 64)


@pytest.mark.parametrize(
    "name",
    ["../x", "a/../../x", "/etc/x", "a//x", "./x", "", "ü\0b", "x" * 256, "d/" * 70 + "x", "a\u202eb", "a\nb", "a\\b"],
)
def test_names_that_lead_out_or_mislead_are_refused(name, target):
    with pytest.raises(UnsafeArchive):
        archive.extract([written((Member(name, "file", size=1), b"x"))], target)
    assert not any(target.parent.glob("x"))


@pytest.mark.parametrize(
    ("path", "link"),
    [("l", "/etc/passwd"), ("l", "../x"), ("d/l", "../../x"), ("l", "a/../../x"), ("l", "d/up/.."), ("l", "")],
)
def test_links_that_may_lead_out_are_refused(path, link, target):
    with pytest.raises(UnsafeArchive):
        archive.extract([written((Member(path, "link", target=link), b""))], target)


def test_a_name_below_a_link_is_refused(target):
    data = written(
        (Member("d", "dir"), b""), (Member("l", "link", target="d"), b""), (Member("l/x", "file", size=1), b"x")
    )

    with pytest.raises(UnsafeArchive, match="not a folder"):
        archive.extract([data], target)


@pytest.mark.parametrize(("one", "other"), [("a", "a"), ("a", "A"), ("d/x", "D/x"), ("straße", "STRASSE")])
def test_a_name_given_twice_or_in_another_case_is_refused(one, other, target):
    data = written((Member(one, "file", size=1), b"1"), (Member(other, "file", size=1), b"2"))

    with pytest.raises(UnsafeArchive):
        archive.extract([data], target)


def make(**facts):
    def change(info: tarfile.TarInfo) -> None:
        for name, value in facts.items():
            setattr(info, name, value)

    return change


@pytest.mark.parametrize(
    "data",
    [
        foreign(make(type=tarfile.LNKTYPE, linkname="other")),
        foreign(make(type=tarfile.CHRTYPE)),
        foreign(make(type=tarfile.BLKTYPE)),
        foreign(make(type=tarfile.FIFOTYPE)),
        foreign(make(type=tarfile.GNUTYPE_SPARSE)),
        foreign(make(name="n" * 200), tarfile.GNU_FORMAT),
        foreign(make(pax_headers={"GNU.sparse.major": "1"})),
        foreign(make(pax_headers={"path": "x" * 20000})),
        b"\x1f\x8b" + bytes(600),
        b"x" * 512,
        b"",
        bytes(512) + b"y" * 512,
    ],
)
def test_whatever_else_a_tar_can_hold_is_refused(data, target):
    with pytest.raises(UnsafeArchive):
        archive.extract([data], target)


def test_an_archive_that_is_cut_is_refused(tree, target):
    with pytest.raises(UnsafeArchive, match="middle"):
        archive.extract([packed({"": tree})[:1100]], target)


def test_too_much_is_refused_while_it_is_read(target):
    def endless() -> Iterator[bytes]:
        yield written((Member("a", "file", size=0), b""))[:512]
        while True:
            yield bytes(1 << 16)

    with pytest.raises(UnsafeArchive, match="bigger"):
        archive.extract(endless(), target, limits=Limits(bytes=1 << 20))
    many = written(*((Member(f"f{i}", "file"), b"") for i in range(20)))
    with pytest.raises(UnsafeArchive, match="more than 10 members"):
        archive.extract([many], target, limits=Limits(members=10))


def test_a_snapshot_is_extracted_without_what_leads_out(target):
    data = written(
        (Member("ok", "file", size=1), b"x"),
        (Member("odd\n\udcff", "file", size=1), b"x"),
        (Member("OK", "file", size=1), b"y"),
        (Member("out", "link", target="/sealed/reference"), b""),
    )

    done = archive.extract([data], target, unsafe="skip")

    assert done.skipped == ["out: link with an absolute or empty target"]
    assert sorted(path.name for path in target.iterdir()) == ["OK", "odd\n\udcff", "ok"]


@given(st.lists(st.text(st.sampled_from("ab./"), max_size=12), max_size=6))
@settings(max_examples=150, deadline=None)
def test_no_set_of_links_that_is_let_in_leads_out(tmp_path_factory, targets):
    """Chains of links that each obey the rule still resolve inside, whatever order they are laid out in."""
    root = tmp_path_factory.mktemp("chain").resolve() / "inside"
    root.mkdir()
    members = [(Member("a", "dir"), b""), (Member("a/b", "dir"), b"")]
    places = ["b", "a/a", "a/b/a", "a/b/b", "c", "a/c"]
    members += [(Member(p, "link", target=t), b"") for p, t in zip(places, targets, strict=False)]
    archive.extract([written(*members)], root, unsafe="skip")
    for place in places:
        try:
            resolved = (root / place).resolve(strict=True)
        except (OSError, RuntimeError):
            continue
        assert resolved == root or root in resolved.parents


@given(st.binary(max_size=2000))
@settings(max_examples=200, deadline=None)
def test_garbage_is_refused_and_never_crashes(data):
    blob = packed({"a": b"x" * 300, "b" * 120: b"y"})
    middle = len(data) % len(blob)
    for mangled in (data, blob[:middle] + data + blob[middle + len(data) :]):
        try:
            for _, content in archive.read_members([mangled], Limits(bytes=1 << 20)):
                list(content)
        except UnsafeArchive:
            continue


@pytest.mark.parametrize(
    "contents",
    [{"../x": b""}, {"a": b"", "A": b""}, {"a/b": b"", "a": b""}, {"/x": b""}],
)
def test_pack_refuses_what_extract_would(contents):
    with pytest.raises(UnsafeArchive):
        packed(contents)


def test_pack_refuses_links_that_lead_out_and_special_files(tmp_path):
    (tmp_path / "out").symlink_to("/etc/passwd")
    with pytest.raises(UnsafeArchive, match="absolute"):
        packed({"": tmp_path})
    (tmp_path / "out").unlink()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UnsafeArchive, match="neither"):
        packed({"": tmp_path})


def test_ignored_names_are_left_out_with_what_is_below_them(tree):
    sink = io.BytesIO()
    archive.pack({"project": tree}, sink, ignore=lambda path: path == "project/a")

    with tarfile.open(fileobj=io.BytesIO(sink.getvalue())) as tar:
        names = tar.getnames()
    assert "project/a.b" in names and not [name for name in names if name.startswith("project/a/")]


def test_a_snapshot_survives_what_an_agent_may_leave(tmp_path):
    root = tmp_path / "hostile"
    root.mkdir()
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        (root / "loop").symlink_to("loop")
        (root / "self").symlink_to(".")
        with (root / "sparse").open("wb") as file:
            file.truncate(1 << 40)
        (root / "last").write_text("kept")
        (root / os.fsdecode(b"\xff")).write_text("odd")
        sink = io.BytesIO()
        taken = archive.snapshot(root, sink, max_bytes=100_000)

    assert [line.partition(":")[0] for line in taken.skipped] == ["fifo", "socket", "sparse"]
    file = tmp_path / "x.tar"
    file.write_bytes(sink.getvalue())
    assert sorted(archive.index(file)) == ["last", "loop", "self", "\udcff"]
    assert taken.size == len(sink.getvalue()) <= 100_000


def test_a_file_that_shrinks_while_it_is_read_keeps_its_announced_size(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 1_000_000)

    class Shrink(io.BytesIO):
        def write(self, data) -> int:
            if self.tell() == 512:
                os.truncate(tmp_path / "a", 300_000)
            return super().write(data)

    sink = Shrink()
    taken = archive.snapshot(tmp_path, sink, max_bytes=10_000_000)

    assert taken.skipped == ["a: changed while it was read"]
    assert sum(m.size for m, _ in archive.read_members([sink.getvalue()], Limits())) == 1_000_000


def test_members_past_the_limit_are_told(tmp_path):
    for number in range(30):
        (tmp_path / f"f{number:02}").touch()

    taken = archive.snapshot(tmp_path, io.BytesIO(), max_bytes=1 << 20, max_members=10)

    assert taken.files == 10 and taken.skipped_count == 1


def test_names_and_links_past_the_limit_are_told_so_that_nobody_runs_out_of_memory(tmp_path):
    for number in range(20):
        (tmp_path / f"{number:0100d}").symlink_to("x" * 900)
    walk = Walk(tmp_path, max_name_bytes=5000)

    found = [member.path for member, _ in walk]

    assert len(found) == 5
    assert walk.skips.count == 15
    assert walk.skips.listed[0] == f"{5:0100d}: more than 5000 bytes of names and links in all"


def test_paths_are_shown_without_tricks():
    assert archive.printable("a\x1b[31m\udcff\n") == "a\ufffd[31m\ufffd\ufffd"
