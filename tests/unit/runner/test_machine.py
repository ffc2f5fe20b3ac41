"""What else the machine is doing, as far as a container can see it."""

from pathlib import Path
from typing import Any

import pytest

from fairtrial.process import machine


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "loadavg": "0.52 1.08 2.00 3/812 4711\n",
                "thermal_zone0/type": "x86_pkg_temp\n",
                "thermal_zone0/temp": "48000\n",
                "thermal_zone1/type": "acpitz\n",
                "thermal_zone1/temp": "-3000\n",
                "cooling_device0/type": "Processor\n",
            },
            {
                "loadAverage": "0.52 1.08 2.00",
                "temperatures": {"thermal_zone0 x86_pkg_temp": 48000, "thermal_zone1 acpitz": -3000},
            },
        ),
        ({}, {"loadAverage": None, "temperatures": {}}),
        (
            {"loadavg": "\n", "thermal_zone0/type": "broken", "thermal_zone0/temp": "N/A"},
            {"loadAverage": None, "temperatures": {}},
        ),
    ],
    ids=["a machine that shows itself", "nothing to see", "what can't be read"],
)
def test_load_and_temperatures_are_told_where_they_can_be_seen(
    tmp_path: Path, files: dict[str, str], expected: dict[str, Any]
) -> None:
    folder = written(tmp_path, files)

    assert machine.state(folder, folder) == expected
