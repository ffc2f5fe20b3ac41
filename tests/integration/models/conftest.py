"""A gateway for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.integration.models.world import World
from tests.integration.models.world import world as make_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with make_world(tmp_path) as made:
        yield made


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as made:
        yield made
