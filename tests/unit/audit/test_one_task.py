"""A cohort of a single task: nothing can be left out of it, and there is no interval over tasks."""

from pathlib import Path

from fairtrial_analysis.analyse import Settings, packaged
from fairtrial_analysis.package.publish import publish

from fairtrial.audit.verify import verify
from fairtrial.evidence.package_paths import own_key
from tests import stored_cohort


def test_a_cohort_of_one_task_verifies(tmp_path: Path) -> None:
    made = stored_cohort.make(tasks=1)
    example = made.example
    where, settings = (example.layout, stored_cohort.BUCKET), Settings(example.size)
    package = packaged(made.store, where, example.address, settings)[1]
    publish(package, made.store, made.keys.analysis)
    base = package.keys.cohort_keys.package(package.digest)
    paths = {line.decode().split()[2]: line.decode().split()[0].partition("evidence/")[2] for line in package.fetch()}
    own = [*(f"data/{path}" for path in package.own), *package.tags]
    own += ["manifest-sha256.txt", "manifest-sha256.txt.sigstore.json", "tagmanifest-sha256.txt", "fetch.txt"]
    for path, key in {**paths, **{path: own_key(base, path) for path in own}}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(made.store.get(key))

    found = verify(tmp_path, made.keys.trust).findings

    assert [(one.code, one.path, one.says) for one in found] == []
