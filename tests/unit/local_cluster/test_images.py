"""An image is built again when something that its Dockerfile copies changed, and not otherwise."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from local_cluster import images

DOCKERFILE = """\
ARG BASE=debian
FROM ${BASE} AS build
COPY pyproject.toml \\
     lock ./
COPY --chown=1:1 src src
RUN echo COPY README.md is no instruction
FROM ${BASE}
COPY --from=build /src docs /opt/
"""


@pytest.fixture
def image(tmp_path: Path) -> images.Image:
    for name in ("pyproject.toml", "lock", "README.md", "src/main.py", "src/tests/data", "docs/page.md", "part/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "part" / "Dockerfile").write_text(DOCKERFILE)
    return images.Image("part", tmp_path / "part" / "Dockerfile", tmp_path)


def test_what_a_dockerfile_copies_is_read_from_it(image: images.Image) -> None:
    names = [path.relative_to(image.context).as_posix() for path in images.copied(image)]

    assert names == ["pyproject.toml", "lock", "src"]


@pytest.mark.parametrize("changed", ["README.md", "docs/page.md", "part/x", "src/__pycache__/main.pyc"])
def test_what_is_not_copied_does_not_change_the_key(image: images.Image, changed: str) -> None:
    before = images.key(image, "base")

    (image.context / changed).parent.mkdir(exist_ok=True)
    (image.context / changed).write_text("edited")

    assert images.key(image, "base") == before


@pytest.mark.parametrize("changed", ["lock", "src/main.py", "src/tests/data", "src/new.py", "part/Dockerfile"])
def test_what_is_copied_and_the_dockerfile_change_the_key(image: images.Image, changed: str) -> None:
    before = images.key(image, "base")

    with (image.context / changed).open("a") as file:
        file.write("# edited\n")

    assert images.key(image, "base") != before


def test_a_base_and_a_build_argument_change_the_key(image: images.Image) -> None:
    other = replace(image, arguments=dict(image.arguments) | {"MORE": "1"})

    assert len({images.key(image, "base"), images.key(image, "other base"), images.key(other, "base")}) == 3


@pytest.mark.parametrize("image", images.table(), ids=lambda image: image.name)
def test_our_dockerfiles_copy_what_exists_and_no_readme(image: images.Image) -> None:
    copied = images.copied(image)

    lines = [line for line in image.dockerfile.read_text().splitlines() if line.startswith(("COPY", "ADD"))]
    assert bool(copied) == any("--from" not in line for line in lines)
    assert not any(path.name == "README.md" or path == image.context for path in copied)


@pytest.mark.parametrize("image", images.table(), ids=lambda image: image.name)
def test_our_dockerfiles_name_their_base_by_digest(image: images.Image) -> None:
    lines = image.dockerfile.read_text().splitlines()

    (base,) = (line for line in lines if line.startswith("ARG BASE="))
    assert re.fullmatch(r"ARG BASE=docker\.io/library/[a-z]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}", base)
    assert {line.split()[1] for line in lines if line.startswith("FROM ")} <= {"${BASE}", "scratch"}


@pytest.mark.parametrize("name", images.PARTS)
def test_every_part_is_built_again_when_the_shared_package_changes(name: str, tmp_path: Path) -> None:
    (image,) = (image for image in images.table() if image.name == name)
    for source in (image.dockerfile, *images.copied(image)):
        target = tmp_path / source.relative_to(image.context)
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    moved = replace(image, dockerfile=tmp_path / image.dockerfile.relative_to(image.context), context=tmp_path)
    before = images.key(moved, "base")
    assert before == images.key(image, "base")

    (tmp_path / "src" / "fairtrial" / "names.py").write_text("edited")

    assert images.key(moved, "base") != before
