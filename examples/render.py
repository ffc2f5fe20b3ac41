"""Makes the example runs ready for `kubectl apply`: images by digest, candidates and scripts inlined.

A run names its images by digest, and digests differ from registry to registry; so the files in runs/ name an image
without one, and this puts in the digests at hand. `candidateFrom: file` becomes the run's `candidate`, so that runs can
share one; `filesFrom: folder` becomes a candidate's `files`, name by name; `filesFrom: {prefix: folder}` does so for
several, or `{prefix: [folders]}`, and puts the prefix before their names. A Deployment's images are pinned too. A
cohort's candidates are made ready in the same way, and its tasks get the digests of what was pushed.

    python -m examples.render --images images.json examples/runs | kubectl apply -f -
    python -m examples.render --images images.json --tasks tasks.json examples/cohorts | kubectl apply -f -

images.json maps the last part of an image's name to its reference: {"python": "registry.example/python@sha256:…"}.
tasks.json is what `kubectl get benchmarktasks -o json` prints.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

Digests = Mapping[str, Mapping[str, str]]  # task → the two fields that a cohort names it by


def render_file(file: Path, images: Mapping[str, str], tasks: Digests | None = None) -> list[dict[str, Any]]:
    """The objects of one YAML file, made ready; `tasks` are the digests that cohorts get."""
    documents = [document for document in yaml.safe_load_all(file.read_text()) if document]
    for document in documents:
        if document.get("kind") == "BenchmarkRun":
            spec, place = document["spec"], file
            if named := spec.pop("candidateFrom", None):
                place = file.parent / named
                spec["candidate"] = yaml.safe_load(place.read_text())
            spec["candidate"] = completed(spec["candidate"], images, place)
        if document.get("kind") == "BenchmarkCohort":
            complete_cohort(document["spec"], images, tasks or {}, file)
        if document.get("kind") == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                container["image"] = pinned(container["image"], images, file)
    return documents


def complete_cohort(spec: dict[str, Any], images: Mapping[str, str], tasks: Digests, file: Path) -> None:
    """Put candidates, images and digests into a cohort's spec."""
    spec["candidates"] = [completed(candidate, images, file) for candidate in spec["candidates"]]
    if "analysis" in spec:
        spec["analysis"]["image"] = pinned(spec["analysis"]["image"], images, file)
    for task in [one for each in spec["tasks"] for one in (each, *each.get("variants", []))]:
        if "publicSha256" not in task and task["name"] not in tasks:
            raise SystemExit(
                f"error: {file}: no task {task['name']!r} among {sorted(tasks)}; push it, and use --tasks."
            )
        task |= {key: task.get(key, digest) for key, digest in tasks.get(task["name"], {}).items()}


def digests_of(tasks: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """What a cohort names tasks by, from BenchmarkTasks."""
    return {
        task["metadata"]["name"]: {
            "publicSha256": task["spec"]["publicArchive"]["sha256"],
            "sealedSha256": task["spec"]["sealedArchive"]["sha256"],
        }
        for task in tasks
    }


def completed(candidate: dict[str, Any], images: Mapping[str, str], file: Path) -> dict[str, Any]:
    """A candidate with its image pinned and its files inlined; folders are relative to the file that says so."""
    rest = {key: value for key, value in candidate.items() if key != "filesFrom"}
    made = rest | {"image": pinned(candidate["image"], images, file)}
    if named := candidate.get("filesFrom"):
        made["files"] = dict(candidate.get("files", {}))
        for prefix, folder in folders_of(named):
            made["files"] |= inlined(file.parent / folder, prefix)
    return made


def folders_of(named: str | dict[str, str | list[str]]) -> list[tuple[str, str]]:
    """What `filesFrom` says, as pairs of prefix and folder."""
    if isinstance(named, str):
        return [("", named)]
    both = [(prefix, [value] if isinstance(value, str) else value) for prefix, value in named.items()]
    return [(prefix, folder) for prefix, folders in both for folder in folders]


def pinned(image: str, images: Mapping[str, str], file: Path) -> str:
    """An image by digest: as it is if it has one, otherwise as the table says."""
    name = image.rsplit("/", 1)[-1]
    if "@" not in image and name not in images:
        raise SystemExit(f"error: {file}: no image {name!r} among {sorted(images)}; build it and add it to the table.")
    return image if "@" in image else images[name]


def inlined(folder: Path, prefix: str = "") -> dict[str, str]:
    """The files of a folder by their names, with a prefix before each."""
    return {prefix + path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


def main() -> None:
    """Print the rendered objects of files and folders as one YAML stream."""
    parser = argparse.ArgumentParser(prog="python -m examples.render", description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path, required=True, help="JSON table of image names and references")
    parser.add_argument("--tasks", type=Path, help="JSON list of the BenchmarkTasks that cohorts name")
    parser.add_argument("paths", type=Path, nargs="+", help="YAML files, or folders of them")
    arguments = parser.parse_args()
    images = json.loads(arguments.images.read_text())
    tasks = digests_of(json.loads(arguments.tasks.read_text())["items"]) if arguments.tasks else {}
    files = [file for path in arguments.paths for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]
    made = [item for file in files for item in render_file(file, images, tasks)]
    yaml.safe_dump_all(json.loads(json.dumps(made, default=str)), sys.stdout, sort_keys=False)  # without aliases


if __name__ == "__main__":
    main()
