"""The builder's real store, in a cache of its own: building again does not make it grow, and stays fast."""

import json
from pathlib import Path

import pytest

from local_cluster import build_environment, images, leftovers, packages, prune

DOCKERFILE = """\
FROM scratch AS first
COPY compiled /compiled
FROM scratch
COPY --from=first /compiled /program
COPY text /text
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    packages.provide("buildah", "buildah")
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path / "cache"))
    yield
    leftovers.unmount_below(tmp_path)


@pytest.fixture
def image(tmp_path: Path) -> images.Image:
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text(DOCKERFILE)
    for name in ("compiled", "text"):
        (context / name).write_text("1")
    return images.Image("operator", context / "Dockerfile", context, arguments={})


def layers_in_store() -> int:
    return len(json.loads((build_environment.folder() / "store" / "overlay-layers" / "layers.json").read_text()))


def test_building_again_and_again_does_not_make_the_store_grow(image: images.Image) -> None:
    sizes = []
    for number in range(3):
        (image.context / "compiled").write_text(f"edited {number}")
        images.build(image)
        prune.after_builds()
        sizes.append(layers_in_store())

    assert sizes[0] == sizes[1] == sizes[2]


def test_a_killed_build_does_not_end_the_cleaning(image: images.Image) -> None:
    images.build(image)
    before = layers_in_store()
    folder = build_environment.folder() / "store" / "overlay-images"
    half_written = next(one["id"] for one in json.loads((folder / "images.json").read_text()) if not one.get("names"))
    (folder / half_written / "manifest").unlink()

    (image.context / "compiled").write_text("edited")
    images.build(image)
    prune.after_builds()

    assert layers_in_store() == before


def steps(archive: Path) -> list[str]:
    return (archive.parent / images.STEPS).read_text().split()


def test_what_the_present_image_was_made_from_makes_its_next_build_fast(image: images.Image) -> None:
    before = steps(images.build(image))
    prune.prune()

    (image.context / "text").write_text("edited")
    after = steps(images.build(image))

    assert after[0].startswith(before[0])  # the stage that did not change was found, not made


def test_everything_can_be_forgotten_and_is_made_again(image: images.Image) -> None:
    before = images.manifest_digest(images.build(image))

    prune.prune(all_of_it=True)

    assert layers_in_store() == 0
    assert images.build(image).exists()
    (image.context / "text").write_text("edited")
    assert images.manifest_digest(images.build(image)) != before
