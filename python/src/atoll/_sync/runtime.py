"""What differs between the two worlds, here for plain calls. `_aio/runtime.py` has the same names."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from typing import Any, BinaryIO

from websockets.sync.client import connect
from websockets.sync.connection import Connection
from websockets.typing import Subprotocol

from .._archive import PIECE_BYTES

Content = bytes | str | BinaryIO | Iterable[bytes]
"""What a file can be written from: bytes, text as UTF-8, a file opened for reading, or pieces."""

Socket = Connection
Event = threading.Event


def sleep(seconds: float) -> None:
    """Waits."""
    time.sleep(seconds)


def open_socket(
    url: str, headers: Mapping[str, str], protocol: str | None = None, timeout: float | None = None
) -> AbstractContextManager[Connection]:
    """Opens a WebSocket for a block. Messages have any size; no proxy is asked."""
    return connect(
        url,
        additional_headers=headers,
        subprotocols=None if protocol is None else [Subprotocol(protocol)],
        open_timeout=timeout,
        compression=None,
        max_size=None,
        proxy=None,
    )


def pieces_of(content: Content) -> Iterator[bytes]:
    """Gives what is to be sent, piece by piece."""
    if isinstance(content, str):
        return iter([content.encode()])
    if isinstance(content, bytes):
        return iter([content])
    # A file is an iterator too, of lines.
    read = getattr(content, "read", None)
    return iter(content) if read is None else iter(lambda: read(PIECE_BYTES), b"")


def consume(stream: Iterator[bytes], take: Callable[[Callable[[], bytes]], None]) -> None:
    """Lets blocking code take a stream: it asks for piece after piece, and gets an empty one at the end."""
    take(lambda: next(stream, b""))


class Background:
    """Work that runs beside the caller, on an event loop in a thread. It is given what to call once it has started."""

    def __init__(self, work: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        self._has_started: Future[None] = Future()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(work(lambda: self._has_started.set_result(None)))
        # A program that forgets to end it ends all the same.
        self._thread = threading.Thread(target=self._run, name="atoll", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._task)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            if not self._has_started.done():
                self._has_started.set_exception(error)
        finally:
            self._loop.close()

    def started(self) -> None:
        """Waits until it has started; raises what kept it from it."""
        self._has_started.result()

    def stop(self) -> None:
        """Ends it and waits for its end."""
        with suppress(RuntimeError):  # It may have ended by itself.
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
