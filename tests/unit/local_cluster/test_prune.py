"""What is removed from the cache is what the checkout does not describe; what it does describe is never touched."""

import fcntl
import os
from pathlib import Path

import pytest

from local_cluster import build_environment, cache, images, prune

GO_SUM = """\
github.com/Masterminds/semver/v3 v3.4.0 h1:Zog+i5UMtVoCU8oKka5P7i9q9HgrJeGzI9SA1Xbatp0=
github.com/Masterminds/semver/v3 v3.4.0/go.mod h1:4V+yj/TJE1HU9XfppCwVMZq3I84lprf4nC11bSS5beM=
golang.org/x/net v0.1.0/go.mod h1:4V+yj/TJE1HU9XfppCwVMZq3I84lprf4nC11bSS5beM=
"""


class Builder:
    """A builder's store with images in it: each with what it was made from, and whether it has a name."""

    def __init__(self, store: dict[str, tuple[str, bool]]) -> None:
        self.store = store

    def nameless(self) -> list[str]:
        parents = {parent for parent, _ in self.store.values()}
        return [one for one, (_, named) in self.store.items() if not named and one not in parents]

    def forget(self, *names: str) -> bool:
        return all(self.store.pop(name, None) is not None for name in names)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(images, "forget_containers", lambda: None)
    return tmp_path / "cache"


def builder(monkeypatch: pytest.MonkeyPatch, store: dict[str, tuple[str, bool]]) -> Builder:
    made = Builder(store)
    (build_environment.folder() / "store").mkdir()
    monkeypatch.setattr(images, "nameless", made.nameless)
    monkeypatch.setattr(images, "named", list)
    monkeypatch.setattr(images, "forget", made.forget)
    return made


def entry(kind: str, name: str, steps: str = "") -> Path:
    return cache.entry(kind, name, "key", lambda target: (target / images.STEPS).write_text(steps) and None)


def module(root: Path, path: str, version: str) -> list[Path]:
    """A version of a module as Go keeps it: unpacked, and packed."""
    unpacked = root / "go" / "modules" / f"{path}@{version}"
    packed = root / "go" / "modules" / "cache" / "download" / path / "@v" / f"{version}.zip"
    unpacked.mkdir(parents=True)
    packed.parent.mkdir(parents=True, exist_ok=True)
    (unpacked / "main.go").write_text("package main")
    packed.write_bytes(b"zip")
    (root / "go" / "modules" / "cache" / "lock").touch()
    return [unpacked, packed]


def test_an_image_and_a_program_without_a_description_are_removed_and_no_other_entry(root: Path) -> None:
    gone = [entry("images", "agent-of-the-past"), entry("binaries", "tool-of-the-past")]
    kept = [entry("images", "operator"), entry("images", "base"), entry("images", "kueue"), entry("binaries", "etcd")]
    kept += [entry("binaries", "kubernetes"), entry("binaries", "notes"), entry("binaries", "kwok")]

    prune.images_and_programs()

    assert [one for one in gone if one.parent.exists()] == []
    assert [one for one in kept if not one.exists()] == []


def test_the_builder_the_logs_and_what_others_put_there_are_no_entries(root: Path) -> None:
    places = [root / "images" / "logs", build_environment.folder() / "downloads", root / "images" / "mine"]
    for place in places:
        place.mkdir(parents=True)
    with build_environment.together():
        pass

    prune.images_and_programs()

    assert [place for place in places if not place.exists()] == []


def test_what_another_process_makes_right_now_stays(root: Path) -> None:
    made = entry("images", "agent-of-another-checkout")

    with (made.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        prune.images_and_programs()

    assert made.exists()


def test_every_image_and_program_that_this_checkout_asks_for_is_described() -> None:
    assert {image.name for image in images.table()} <= prune.described_images()
    assert {"etcd", "kubernetes", "pause", "cosign", "kueue", "notes", "kwok"} <= prune.described_programs()


def test_steps_of_replaced_images_go_and_those_of_present_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    entry("images", "operator", steps="aaaa1111 bbbb2222")
    store = builder(
        monkeypatch,
        {
            "aaaa1111": ("", False),  # a stage that the present image copies from
            "named": ("", True),
            "old2": ("old1", False),
            "old1": ("", False),
        },
    )

    prune.after_builds()

    assert sorted(store.store) == ["aaaa1111", "named"]


def test_a_name_is_replaced_when_the_cache_has_no_entry_of_its_key() -> None:
    for name in ("operator", "base"):
        cache.entry("images", name, "0123456789abcdef", lambda target: None)

    replaced = {
        "localhost/fairtrial/operator:0123456789abcdef": False,
        "localhost/fairtrial/operator:fedcba9876543210": True,
        "localhost/fairtrial/debian-python:base-0123456789abcdef": False,
        "localhost/fairtrial/debian-python:base-fedcba9876543210": True,
        "localhost/fairtrial/debian-python:base": False,
        "localhost/fairtrial/pause:local": False,
        "docker.io/somebody/operator:fedcba9876543210": False,
    }
    assert {name: prune.is_replaced(name) for name in replaced} == replaced


def test_nothing_of_the_builder_is_touched_while_something_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    store = builder(monkeypatch, {"just-made": ("", False)})

    with build_environment.together():
        prune.after_builds()
        prune.prune(all_of_it=True)

    assert list(store.store) == ["just-made"]


def test_an_image_that_cannot_be_removed_does_not_keep_it_busy_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    builder(monkeypatch, {"stuck": ("", False)})
    monkeypatch.setattr(images, "forget", lambda *names: False)

    prune.layers()


def test_versions_of_modules_that_no_sum_holds_are_removed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "repository" / "local_cluster" / "binaries" / "tool"
    folder.mkdir(parents=True)
    (folder / "go.sum").write_text(GO_SUM)
    monkeypatch.setattr(prune.images, "REPOSITORY", tmp_path / "repository")
    kept = module(root, "github.com/!masterminds/semver/v3", "v3.4.0")
    gone = module(root, "github.com/!masterminds/semver/v3", "v3.3.0") + module(root, "golang.org/x/net", "v0.1.0")
    for place, _, files in os.walk(root / "go"):
        for name in files:
            Path(place, name).chmod(0o444)

    prune.modules()

    assert [path for path in kept if not path.exists()] == []
    assert [path for path in gone if path.exists()] == []


def test_the_steps_are_what_the_builder_tells() -> None:
    log = "STEP 1: FROM x\n--> Using cache 72c8417b447c668fcfd9\nSTEP 2: RUN echo '--> 12345678'\n--> 5a029b6a2fd\nx\n"

    assert images.steps_told(log) == ["72c8417b447c668fcfd9", "5a029b6a2fd"]
