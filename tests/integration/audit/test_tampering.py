"""Each way to tamper gives exactly its codes: a broader failure can't hide a check that is missing."""

from collections.abc import Callable

import pytest

from fairtrial.audit.verify import Result
from tests.unit.audit import shapes


@pytest.mark.parametrize("name", shapes.CASES)
def test_tampering_is_told_by_its_codes(name: str, checked: Callable[[dict[str, bytes]], Result]):
    make, codes = shapes.CASES[name]

    assert checked(make()).findings.codes == codes
