"""Somebody's own cluster: what of their values file goes to Helm, and what is missing from it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.demo import __main__ as demo
from examples.demo.install import OUR_IMAGES, chart_values

STORE = {
    "FAIRTRIAL_S3_ENDPOINT": "https://s3.example",
    "FAIRTRIAL_S3_BUCKET": "evidence",
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
IMAGES = {name: f"registry.example/{name}@sha256:{'a' * 64}" for name in OUR_IMAGES}
EXAMPLES = {name: f"registry.example/{name}@sha256:{'b' * 64}" for name in demo.EXAMPLE_IMAGES}


@pytest.fixture
def values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in STORE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")

    def write(**content: Any) -> str:
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(content))
        return str(file)

    return write


def test_the_users_values_win_and_hold_nothing_that_the_chart_does_not_know(values: Any) -> None:
    file = values(images=IMAGES, exampleImages=EXAMPLES, gateway={"replicas": 3}, store={"prefix": "team/"})

    target = demo.own_cluster("theirs", file)
    given = chart_values(target)

    assert given["gateway"] == {"replicas": 3}
    assert given["store"] == {
        "endpoint": "https://s3.example",
        "bucket": "evidence",
        "existingSecret": "fairtrial-store",
        "prefix": "team/",
    }
    assert "exampleImages" not in given
    assert target.images["python"] == EXAMPLES["python"]
    assert target.context == "theirs"


def test_images_that_are_missing_are_named(values: Any) -> None:
    with pytest.raises(SystemExit, match="no image for busybox, evaluator, node, python"):
        demo.own_cluster("theirs", values(images={k: v for k, v in IMAGES.items() if k != "evaluator"}))
