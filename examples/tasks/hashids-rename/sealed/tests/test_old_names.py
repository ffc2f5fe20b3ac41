"""The old names are gone: at the module, at the class, at an instance, and from whatever could forward them."""

import hashids
import pytest

OLD_NAMES = ("encrypt", "decrypt", "_encrypt", "_decrypt")


@pytest.mark.parametrize("name", OLD_NAMES)
def test_module_has_no_old_name(name):
    assert not hasattr(hashids, name)


@pytest.mark.parametrize("name", OLD_NAMES)
def test_class_has_no_old_name(name):
    assert not hasattr(hashids.Hashids, name)


@pytest.mark.parametrize("name", OLD_NAMES)
def test_instance_has_no_old_name(name):
    assert not hasattr(hashids.Hashids(salt="any", min_length=8), name)
