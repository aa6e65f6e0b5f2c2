"""Giving calls up: by a cancelled task, and by Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from polling import until


def abort(call: Callable[[], object], is_running: Callable[[], bool]) -> None:
    """Makes a call, and interrupts it as Ctrl-C does once it runs."""

    def interrupt() -> None:
        until(is_running)
        # A signal to the process may come to a thread that has no use for it.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    thread.join()


async def async_abort(call: Callable[[], Coroutine[Any, Any, object]], is_running: Callable[[], bool]) -> None:
    """Makes a call, and cancels it once it runs."""
    task = asyncio.create_task(call())
    await asyncio.to_thread(until, is_running)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
