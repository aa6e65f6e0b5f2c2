"""What differs between the two worlds, here for asyncio. `_sync/runtime.py` has the same names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, BinaryIO

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection
from websockets.typing import Subprotocol

from .._archive import PIECE_BYTES

Content = bytes | str | BinaryIO | Iterable[bytes] | AsyncIterable[bytes]
"""What a file can be written from: bytes, text as UTF-8, a file opened for reading, or pieces."""

Socket = Connection
Event = asyncio.Event


async def sleep(seconds: float) -> None:
    """Waits."""
    await asyncio.sleep(seconds)


def open_socket(
    url: str, headers: Mapping[str, str], protocol: str | None = None, timeout: float | None = None
) -> AbstractAsyncContextManager[Connection]:
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


async def pieces_of(content: Content) -> AsyncIterator[bytes]:
    """Gives what is to be sent, piece by piece. A blocking source is read in a thread."""
    if isinstance(content, AsyncIterable):
        async for piece in content:
            yield piece
        return
    source = _blocking(content)
    while (next_piece := await asyncio.to_thread(next, source, None)) is not None:
        yield next_piece


def _blocking(content: bytes | str | BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(content, str):
        return iter([content.encode()])
    if isinstance(content, bytes):
        return iter([content])
    # A file is an iterator too, of lines.
    read = getattr(content, "read", None)
    return iter(content) if read is None else iter(lambda: read(PIECE_BYTES), b"")


async def consume(stream: AsyncIterator[bytes], take: Callable[[Callable[[], bytes]], None]) -> None:
    """Lets blocking code take a stream: it asks for piece after piece, and gets an empty one at the end."""
    loop = asyncio.get_running_loop()

    async def following() -> bytes:
        return await anext(stream, b"")

    await asyncio.to_thread(take, lambda: asyncio.run_coroutine_threadsafe(following(), loop).result())


class Background:
    """Work that runs beside the caller. It is given what to call once it has started."""

    def __init__(self, work: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        self._has_started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(work(lambda: self._has_started.set_result(None)))

    async def started(self) -> None:
        """Waits until it has started; raises what kept it from it."""
        await asyncio.wait([self._has_started, self._task], return_when=asyncio.FIRST_COMPLETED)
        if not self._has_started.done():
            await self._task

    async def stop(self) -> None:
        """Ends it and waits for its end."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
