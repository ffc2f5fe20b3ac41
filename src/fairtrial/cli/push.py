"""`fairtrial task push`: both archives into the store, by digest, and the BenchmarkTask that names them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fairtrial.cli.kubectl import Kubectl
from fairtrial.errors import InvalidInput
from fairtrial.task.load import Task, load, validated
from fairtrial.task.pack import Packed, complete, public_archive, sealed_archive

if TYPE_CHECKING:
    from fairtrial.evidence.store import ObjectStore

MEDIA_TYPE = "application/x-tar"


def run(folder: Path, *, namespace: str, image: str | None, context: str | None, dry_run: bool, show: bool) -> None:
    """Store and apply; with `dry_run` only say what would be."""
    task = load(folder)
    with complete(task) as found:
        public, sealed = public_archive(found), sealed_archive(found)
    document = manifest(task, public, sealed, namespace=namespace, image=image or task.file.evaluator_image)
    if show or dry_run:
        sys.stdout.write(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    if dry_run:
        return
    from fairtrial.evidence.layout import Layout
    from fairtrial.evidence.store import S3Settings, S3Store

    settings = S3Settings.from_env()
    store: ObjectStore = S3Store(settings)
    layout = Layout(settings.prefix)
    for what, key, archive in (
        ("public", layout.public_archive(public.sha256), public),
        ("sealed", layout.sealed_archive(sealed.sha256), sealed),
    ):
        stored = store.put(key, archive.data, media_type=MEDIA_TYPE)
        state = "stored" if stored.created else "was there"
        sys.stderr.write(f"{what} {archive.sha256} ({archive.size} bytes): {state}\n")
    kubectl = Kubectl(context, namespace)
    sys.stderr.write(kubectl.apply(yaml.safe_dump(document, sort_keys=False, allow_unicode=True)))


def manifest(task: Task, public: Packed, sealed: Packed, *, namespace: str, image: str) -> dict[str, Any]:
    """The BenchmarkTask as plain data, valid by the API's own model. Pure: equal tasks give equal manifests."""
    from fairtrial.api.task import BenchmarkTask

    if "@sha256:" not in image:
        raise InvalidInput(
            f"evaluatorImage: {image!r} names no digest.",
            next_move="Give --evaluator-image NAME@sha256:…; `docker buildx imagetools inspect NAME:TAG` shows it.",
        )
    document = {
        "apiVersion": "fairtrial.dev/v1alpha1",
        "kind": "BenchmarkTask",
        "metadata": {"name": f"{task.file.name}-v{task.file.version}", "namespace": namespace},
        "spec": _spec(task, public, sealed, image),
    }
    validated(BenchmarkTask, document, "BenchmarkTask")
    return document


def _spec(task: Task, public: Packed, sealed: Packed, image: str) -> dict[str, Any]:
    return {
        "version": task.file.version,
        "title": task.file.title,
        "family": task.file.family,
        "language": task.file.language,
        "publicArchive": {"sha256": public.sha256, "size": public.size},
        "sealedArchive": {"sha256": sealed.sha256, "size": sealed.size},
        "evaluatorImage": image,
        "steps": [
            {"name": step.name, "prompt": step.prompt, "wallSeconds": step.wall_seconds} for step in task.public.steps
        ],
        "preflight": [command.model_dump(mode="json", by_alias=True) for command in task.file.preflight],
        "generated": list(task.public.generated),
        "evaluateSeconds": task.evaluate_seconds,
        "toolServers": list(task.file.tool_servers),
        "publicCriteria": list(task.file.public_criteria),
    }
