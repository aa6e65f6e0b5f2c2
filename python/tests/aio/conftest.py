"""The same for tests that run on asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atoll import AsyncClient, AsyncSandbox


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs them on asyncio."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.anyio)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """What the client is made for."""
    return "asyncio"


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    """A connection of the test's own."""
    async with AsyncClient() as client:
        yield client


@pytest.fixture
def sandbox(client: AsyncClient, shared_id: str) -> AsyncSandbox:
    """The sandbox that no test stops."""
    return AsyncSandbox(client, shared_id)
