"""The package that the unit tests of the verifier make, for those that take longer."""

from tests.unit.audit.conftest import checked, package

__all__ = ["checked", "package"]
