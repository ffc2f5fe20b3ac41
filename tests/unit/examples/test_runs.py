"""Every example run is one that the API server would take, once it is rendered, and names things that exist."""

import functools
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from examples import render
from fairtrial.api import BenchmarkRun
from fairtrial.task.load import load

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
FILES = sorted((EXAMPLES / "runs").glob("*.yaml"))
IMAGES = {
    path.parent.name: f"localhost/fairtrial/{path.parent.name}@sha256:{number:064x}"
    for number, path in enumerate(sorted((EXAMPLES / "images").glob("*/Dockerfile")))
}


@functools.cache
def rendered(file: Path) -> BenchmarkRun:
    (document,) = render.render_file(file, IMAGES)
    return BenchmarkRun.model_validate(document)


@functools.cache
def task_version(name: str) -> int:
    return load(EXAMPLES / "tasks" / name).file.version


@functools.cache
def resource_classes() -> set[str]:
    files = (EXAMPLES / "resource-classes").glob("*.yaml")
    return {yaml.safe_load(file.read_text())["metadata"]["name"] for file in files}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_run_is_valid_and_named_like_its_file(file: Path) -> None:
    run = rendered(file)
    assert run.metadata.name == file.stem
    assert run.metadata.name.endswith(run.spec.task_ref.name.rpartition("-v")[0])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_run_names_a_task_and_a_class_that_exist(file: Path) -> None:
    run = rendered(file)
    name, _, version = run.spec.task_ref.name.rpartition("-v")
    assert task_version(name) == int(version)
    assert run.spec.resource_class_name in resource_classes()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_that_argv_names_is_there(file: Path) -> None:
    candidate = rendered(file).spec.candidate
    named = {item.rpartition("/")[2] for item in candidate.argv if item.startswith("/fairtrial/candidate/")}
    assert named <= set(candidate.files)


def test_every_task_has_a_run_that_solves_it() -> None:
    folders = [path.parent for path in (EXAMPLES / "tasks").glob("*/task.yaml")]
    tasks = {
        folder.name for folder in folders if load(folder).file.family != "measurement"
    }  # those measure, and judge none
    assert {f"reference-{task}" for task in tasks} <= {file.stem for file in FILES}


def test_every_candidate_folder_is_used() -> None:
    runs = [(file.parent, yaml.safe_load(file.read_text())["spec"]["candidate"]) for file in FILES]
    cohorts = [(file.parent, yaml.safe_load(file.read_text())["spec"]) for file in EXAMPLES.glob("cohorts/*.yaml")]
    candidates = [*runs, *((place, one) for place, spec in cohorts for one in spec["candidates"])]
    used = {
        (place / folder).resolve()
        for place, candidate in candidates
        if "filesFrom" in candidate
        for _, folder in render.folders_of(candidate["filesFrom"])
    }
    folder = EXAMPLES / "candidates"
    assert {path.parent for path in folder.rglob("*") if path.is_file()} == {
        one for one in used if one.is_relative_to(folder)
    }


def test_image_without_an_entry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no image 'python'"):
        render.render_file(EXAMPLES / "runs" / "noop-parse-defect.yaml", {"node": "x"})


def test_pinned_image_stays() -> None:
    assert render.pinned("a.example/b@sha256:1", {}, Path("any")) == "a.example/b@sha256:1"


def test_command_prints_a_stream_for_kubectl(tmp_path: Path) -> None:
    table = tmp_path / "images.json"
    table.write_text(json.dumps(IMAGES))
    argv = [sys.executable, "-m", "examples.render", "--images", str(table), str(EXAMPLES / "runs")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [item["metadata"]["name"] for item in yaml.safe_load_all(io.StringIO(done.stdout))] == [
        file.stem for file in FILES
    ]
