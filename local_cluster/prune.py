"""Removes from the cache what no description of this checkout names: it would lie there in case somebody goes back.

A newer entry replaces an older one of its own name at once (`cache.entry`). What is left over is told here by what the
checkout says now: images and programs whose description is gone, the builder's layers that no present image was
made from, and versions of Go modules that no go.sum holds. Containers know nothing of any of it: a running cluster has
its programs open and its images in its own store, and keeps both.
"""

import fcntl
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from local_cluster import build_environment, cache, images
from local_cluster.progress import say

# Where programs are described that somebody builds from Go modules: each in a folder of its name, with a go.mod.
DESCRIPTIONS = ("local_cluster", "tests", "benchmarks")
_SUM = re.compile(r"(\S+) (\S+?)(/go\.mod)? h1:\S+")


def prune(*, all_of_it: bool = False) -> None:
    """Remove it, and say what. `all_of_it`: also what only makes the next build faster."""
    after_builds()
    with build_environment.alone() as alone:
        if not alone:
            say("  an image is being built: its builder and Go's modules are left as they are")
            return
        modules()
        if all_of_it:
            forget_all()


def after_builds() -> None:
    """What a build may have left behind; next to nothing to do where it left nothing."""
    images_and_programs()
    with build_environment.alone() as alone:
        if alone:
            layers()


def images_and_programs() -> None:
    """Entries that have no description."""
    for kind, known in (("images", described_images()), ("binaries", described_programs())):
        for folder in sorted((cache.root() / kind).glob("*")):
            # An entry's folder has a lock; the builder, the logs and whatever somebody put there have none.
            if folder.name not in known and (folder / ".lock").exists():
                _remove_entry(folder)


def described_images() -> set[str]:
    """Names of the images that this checkout can ask for."""
    return {image.name for image in (*images.table(), *images.on_request())} | images.MADE_ELSEWHERE


def described_programs() -> set[str]:
    """Names of the programs that this checkout can build."""
    return {file.parent.name for place in DESCRIPTIONS for file in (images.REPOSITORY / place).rglob("go.mod")}


def described_modules() -> set[str]:
    """The versions of modules that a build here may read, as `path@version`."""
    found = set()
    for file in (file for place in DESCRIPTIONS for file in (images.REPOSITORY / place).rglob("go.sum")):
        lines = (_SUM.fullmatch(line) for line in file.read_text().splitlines())
        found |= {f"{line[1]}@{line[2]}" for line in lines if line and not line[3]}
    return found


def layers() -> None:
    """Images in the builder's store that were replaced, and those without a name that are no step of a present one."""
    if not (build_environment.folder() / "store").exists():
        return
    images.forget_containers()
    count = sum(images.forget(name) for name in images.named() if is_replaced(name))
    kept = tuple(present_steps())
    # What an image was made from is free once the image is gone: look again until nothing is.
    while gone := sum(images.forget(one) for one in images.nameless() if not one.startswith(kept)):
        count += gone
    if count:
        say(f"  removed {count} images that were replaced, or steps of them, from the builder's store")


def is_replaced(name: str) -> bool:
    """Whether a name in the builder's store has a content key that the cache has no entry of any more."""
    found = re.fullmatch(rf"{images.PREFIX}/([^:/]+):(base-)?([0-9a-f]{{16}})", name)
    return bool(found and not (cache.root() / "images" / ("base" if found[2] else found[1]) / found[3]).is_dir())


def present_steps() -> set[str]:
    """The beginnings of the names of the builder's images that were a step to an image in the cache."""
    files = (cache.root() / "images").glob(f"*/*/{images.STEPS}")
    return {step for file in files for step in file.read_text().split()}


def modules() -> None:
    """Versions of Go modules that no go.sum of this checkout holds, unpacked and packed."""
    root, freed = cache.root() / "go" / "modules", 0
    if not (root / "cache" / "lock").exists():
        return
    with (root / "cache" / "lock").open() as lock:  # as Go itself takes it
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = described_modules()
        for place in _unpacked(root):
            if module_of(place.relative_to(root).as_posix()) not in known:
                freed += _size(place)
                shutil.rmtree(place)
        for packed in (root / "cache" / "download").rglob("@v/*.zip"):
            path = packed.parent.parent.relative_to(root / "cache" / "download").as_posix()
            if module_of(f"{path}@{packed.stem}") not in known:
                freed += packed.stat().st_size
                packed.unlink()
    _tell("versions of Go modules that no go.sum holds", freed)


def module_of(escaped: str) -> str:
    """The module and version behind a path in Go's cache, which writes `!a` for `A`."""
    return re.sub(r"!([a-z])", lambda found: found[1].upper(), escaped)


def forget_all() -> None:
    """The builder's whole store and downloads, and what Go compiled: all is made again when it is needed."""
    images.forget("--all", "--force")
    for place in (build_environment.folder() / "downloads", cache.root() / "go" / "build"):
        size = _size(place)
        shutil.rmtree(place, ignore_errors=True)
        _tell(f"{place.relative_to(cache.root())}, which makes builds faster", size)


def _remove_entry(folder: Path) -> None:
    with (folder / ".lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # somebody makes it: another checkout has the same cache, and a description
        size = _size(folder)
        shutil.rmtree(folder)
    _tell(f"{folder.relative_to(cache.root())}, which nothing describes", size)


def _unpacked(folder: Path) -> Iterator[Path]:
    """Folders of modules: the first on the way that has a version."""
    for place in folder.iterdir():
        if not place.is_dir() or place == folder / "cache":
            continue
        if "@" in place.name:
            yield place
        else:
            yield from _unpacked(place)


def _size(place: Path) -> int:
    """The bytes on the disk of all that is below it."""
    done = subprocess.run(["du", "--summarize", "--block-size=1", str(place)], capture_output=True, check=False)
    return int((done.stdout.split() or [b"0"])[0])


def _tell(what: str, size: int) -> None:
    if size:
        say(f"  removed {what}: {size / 2**20:,.0f} MiB")
