"""What the agent is answered: permissions by the policy, files below the folder, and nothing else."""

import os
from pathlib import Path

import pytest
from acp import RequestError
from acp.schema import PermissionOption

from fairtrial.acp import files
from fairtrial.acp.answers import Answers, Policy, outcome
from fairtrial.acp.files import Files


def options(*kinds: str) -> list[PermissionOption]:
    return [PermissionOption.model_validate({"optionId": kind, "name": kind, "kind": kind}) for kind in kinds]


@pytest.mark.parametrize(
    ("policy", "offered", "chosen"),
    [
        ("allow", ("allow_always", "allow_once", "reject_once"), "allow_once"),
        ("allow", ("reject_once", "allow_always"), "allow_always"),
        ("allow", ("reject_once",), None),
        ("reject", ("allow_once", "reject_always", "reject_once"), "reject_once"),
        ("reject", ("allow_once", "reject_always"), "reject_always"),
        ("reject", ("allow_once",), None),
        ("reject", (), None),
    ],
)
def test_a_policy_takes_an_option_of_its_kind_once_before_always_and_no_other(
    policy: Policy, offered: tuple[str, ...], chosen: str | None
) -> None:
    found = outcome(options(*offered), policy)

    assert getattr(found, "option_id", None) == chosen
    assert found.outcome == ("selected" if chosen else "cancelled")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inside = tmp_path / "project"
    inside.mkdir()
    (inside / "a.txt").write_text("one\ntwo\nthree")
    (tmp_path / "secret").write_text("secret")
    (inside / "out").symlink_to(tmp_path)
    (inside / "loop").symlink_to(inside / "loop")
    return inside


@pytest.mark.parametrize(
    ("begin", "limit", "text"),
    [
        (None, None, "one\ntwo\nthree"),
        (2, None, "two\nthree"),
        (2, 1, "two\n"),
        (None, 1, "one\n"),
        (9, 1, ""),
        (1, 0, ""),
    ],
)
def test_a_file_is_read_whole_or_by_lines(root: Path, begin: int | None, limit: int | None, text: str) -> None:
    assert Files(root).read(f"{root}/a.txt", begin, limit) == text


@pytest.mark.parametrize(
    "path",
    ["{root}/../secret", "/etc/passwd", "{root}/out/secret", "a.txt", "", "{root}2", "{root}/a\0.txt", "{root}/loop"],
)
def test_a_path_that_leads_out_of_the_folder_is_refused_for_reading_and_writing(root: Path, path: str) -> None:
    path = path.format(root=root)

    with pytest.raises(RequestError) as reading:
        Files(root).read(path, None, None)
    with pytest.raises(RequestError) as writing:
        Files(root).write(path, "mine")

    assert (reading.value.code, writing.value.code) == (-32602, -32602)
    assert (root.parent / "secret").read_text() == "secret"
    assert sorted(found.name for found in root.parent.iterdir()) == ["project", "secret"]


def test_what_is_no_text_file_is_refused_and_not_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    (root / "binary").write_bytes(b"\xff\xfe")
    (root / "large").write_bytes(b"x" * 101)
    monkeypatch.setattr(files, "MOST_BYTES", 100)

    for name in ("pipe", "binary", "large", "", "a.txt/b"):
        with pytest.raises(RequestError) as found:
            Files(root).read(f"{root}/{name}", None, None)
        assert found.value.code == -32602
    with pytest.raises(RequestError) as missing:
        Files(root).read(f"{root}/nothing", None, None)
    assert missing.value.code == -32002
    for name in ("pipe", "", "a.txt/b"):
        with pytest.raises(RequestError):
            Files(root).write(f"{root}/{name}", "x")


def test_a_file_is_written_with_its_folders(root: Path) -> None:
    Files(root).write(f"{root}/new/b.txt", "é")

    assert (root / "new" / "b.txt").read_bytes() == "é".encode()
    with pytest.raises(RequestError):
        Files(root).write(f"{root}/c.txt", "\ud800")


async def test_files_that_are_not_offered_and_terminals_are_methods_that_are_not_there() -> None:
    answers = Answers("allow", None)

    requests = (
        answers.read_text_file(path="/a"),
        answers.write_text_file(path="/a", content=""),
        answers.create_terminal(command="sh"),
        answers.terminal_output(),
        answers.wait_for_terminal_exit(),
        answers.kill_terminal(),
        answers.release_terminal(),
        answers.create_elicitation(),
        answers.ext_method("x", {}),
    )
    for asked in requests:
        with pytest.raises(RequestError) as found:
            await asked
        assert found.value.code == -32601


async def test_nothing_is_granted_or_written_once_the_session_is_over(root: Path) -> None:
    answers = Answers("allow", Files(root))
    answers.over = True

    for asked in (answers.request_permission(options("allow_once")), answers.write_text_file(f"{root}/a.txt", "late")):
        with pytest.raises(RequestError, match="over"):
            await asked
    assert (root / "a.txt").read_text().startswith("one")
