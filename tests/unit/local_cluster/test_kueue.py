"""Kueue as the tests install it is Kueue as the documentation says."""

import re
from pathlib import Path

import yaml

from local_cluster.kueue import CONFIGURATION

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text().partition("\n## Let Kueue admit pods\n")[2]


def test_the_configuration_that_is_tested_is_the_one_of_the_page():
    (told, *_) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert yaml.safe_load(told).items() <= yaml.safe_load(CONFIGURATION).items()
