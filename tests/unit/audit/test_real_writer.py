"""A package that the analysis wrote to a store, fetched by its own lists: nothing is found in it."""

from pathlib import Path

from fairtrial_analysis.analyse import Settings, packaged
from fairtrial_analysis.package.publish import publish

from fairtrial.audit.verify import verify
from fairtrial.evidence.layout import Layout, key_of_uri
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.package_paths import PackageLayout
from tests.unit.audit.world import EVALUATOR_IMAGE, KEYS, TRUST, base, evidence, written


def test_what_the_analysis_publishes_is_found_good(tmp_path: Path):
    world, store = base(), MemoryStore()
    who = world.preregistration["cohort"]
    cohort = (who["namespace"], who["name"], who["uid"])
    keys = PackageLayout(Layout(), *cohort, {run: one["identity"]["uid"] for run, one in world.records.items()})
    for path, data in evidence(world).items():
        key = keys.key(path)
        assert key is not None
        store.put(key, data)

    settings = Settings(image=EVALUATOR_IMAGE, signing="production")
    _, made = packaged(store, (Layout(), "evidence"), cohort, settings, trust=TRUST.to_bytes())
    folder = key_of_uri(publish(made, store, KEYS["analysis"]).uri)

    own = {key.removeprefix(folder): store.get(key) for key in store.objects if key.startswith(folder)}
    own["VERIFY.md"] = own.pop("verify.md")
    lines = [line.split(" ", 2) for line in own["fetch.txt"].decode().splitlines()]
    files = own | {path: store.get(key_of_uri(uri)) for uri, _, path in lines}
    result = verify(written(files, tmp_path / "package"), TRUST)
    assert list(result.findings) == []
    assert result.package_sha256 == made.digest
