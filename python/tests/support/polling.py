"""Waiting for what comes by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

SOON_SECS = 60
PAUSE_SECS = 0.1


def until(check: Callable[[], bool]) -> None:
    """Waits until the check holds."""
    deadline = time.monotonic() + SOON_SECS
    while not check():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(PAUSE_SECS)


async def async_until(check: Callable[[], Awaitable[bool]]) -> None:
    """Waits until the check holds."""
    deadline = time.monotonic() + SOON_SECS
    while not await check():
        assert time.monotonic() < deadline, "it did not come in time"
        await asyncio.sleep(PAUSE_SECS)
