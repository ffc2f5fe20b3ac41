"""What runs in an untrusted pod needs the standard library, the shared modules of the runtime, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairtrial import runtime

ROOT = Path(__file__).parents[2]
PARTS = {"fairtrial_runner": ROOT / "runner_image" / "src", "fairtrial_evaluator": ROOT / "evaluator_image" / "src"}
SCRIPT = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
package = importlib.import_module(sys.argv[2])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(*{name.partition(".")[0] for name in sys.modules} - {"__main__"})
"""


@pytest.mark.parametrize("part", PARTS)
def test_every_module_of_a_pod_can_be_imported_from_what_the_runtime_holds(part: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "fairtrial", tmp_path / "fairtrial", ignore=runtime._not_shared)
    shutil.copytree(PARTS[part] / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))

    # Isolated and without site-packages: what is installed here is not there.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", SCRIPT, str(tmp_path), part],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    imported = set(done.stdout.split())
    assert imported - sys.stdlib_module_names == {"fairtrial", part}
    assert imported & {name.removesuffix(".py") for name in runtime._LEFT_OUT} == set()
