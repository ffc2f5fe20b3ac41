"""Makes the example runs ready for `kubectl apply`: images by digest, candidates and scripts inlined.

A run names its images by digest, and digests differ from registry to registry; so the files in runs/ name an image
without one, and this puts in the digests at hand. `candidateFrom: file` becomes the run's `candidate`, so that runs can
share one; `filesFrom: folder` becomes a candidate's `files`, name by name. A Deployment's images are pinned too.

    python -m examples.render --images images.json examples/runs | kubectl apply -f -

images.json maps the last part of an image's name to its reference: {"python": "registry.example/python@sha256:…"}.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def render_file(file: Path, images: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects of one YAML file; runs among them with their candidates, pinned images and inlined files."""
    documents = [document for document in yaml.safe_load_all(file.read_text()) if document]
    for document in documents:
        if document.get("kind") == "BenchmarkRun":
            spec, place = document["spec"], file
            if named := spec.pop("candidateFrom", None):
                place = file.parent / named
                spec["candidate"] = yaml.safe_load(place.read_text())
            spec["candidate"] = completed(spec["candidate"], images, place)
        if document.get("kind") == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                container["image"] = pinned(container["image"], images, file)
    return documents


def completed(candidate: dict[str, Any], images: Mapping[str, str], file: Path) -> dict[str, Any]:
    """A candidate with its image pinned and its files inlined; folders are relative to the file that says so."""
    folder, rest = candidate.get("filesFrom"), {key: value for key, value in candidate.items() if key != "filesFrom"}
    files = {"files": candidate.get("files", {}) | inlined(file.parent / folder)} if folder else {}
    return rest | {"image": pinned(candidate["image"], images, file)} | files


def pinned(image: str, images: Mapping[str, str], file: Path) -> str:
    """An image by digest: as it is if it has one, otherwise as the table says."""
    name = image.rsplit("/", 1)[-1]
    if "@" not in image and name not in images:
        raise SystemExit(f"error: {file}: no image {name!r} among {sorted(images)}; build it and add it to the table.")
    return image if "@" in image else images[name]


def inlined(folder: Path) -> dict[str, str]:
    """The files of a folder by their names."""
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


def main() -> None:
    """Print the rendered objects of files and folders as one YAML stream."""
    parser = argparse.ArgumentParser(prog="python -m examples.render", description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path, required=True, help="JSON table of image names and references")
    parser.add_argument("paths", type=Path, nargs="+", help="YAML files, or folders of them")
    arguments = parser.parse_args()
    images = json.loads(arguments.images.read_text())
    files = [file for path in arguments.paths for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]
    yaml.safe_dump_all([item for file in files for item in render_file(file, images)], sys.stdout, sort_keys=False)


if __name__ == "__main__":
    main()
