"""The caller's end of a tunnel: a connection made inside the sandbox becomes one to a host and port near the caller.

Written for asyncio; a blocking caller runs it in a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from .errors import UnexpectedAnswerError

OPEN, DATA, CLOSE = 0, 1, 2
_PIECE_BYTES = 64 * 1024
_HEADER_BYTES = 2
_OPEN_SECS = 10

# What may wait for one local server that does not read, before the tunnel waits for it.
_WAITING_PIECES = 64

_RESET = b"reset"


def frame(op: int, connection: str, payload: bytes = b"") -> bytes:
    """One message of a tunnel: op | length of the connection's id | id | payload."""
    name = connection.encode()
    return bytes([op, len(name)]) + name + payload


def parse_frame(message: bytes) -> tuple[int, str, bytes]:
    """Gives op, connection and payload of a message."""
    end = _HEADER_BYTES + message[1] if len(message) >= _HEADER_BYTES else _HEADER_BYTES
    if len(message) < end:
        raise UnexpectedAnswerError("the tunnel's message is cut short")
    return message[0], message[_HEADER_BYTES:end].decode(), message[end:]


def attach(
    url: str, headers: Mapping[str, str], host: str, port: int
) -> Callable[[Callable[[], None]], Coroutine[Any, Any, None]]:
    """Gives the work of attaching to a tunnel and carrying its connections. It says when it has attached."""

    async def work(attached: Callable[[], None]) -> None:
        async with connect(
            url, additional_headers=headers, open_timeout=_OPEN_SECS, compression=None, max_size=None, proxy=None
        ) as socket:
            attached()
            await TunnelBridge(socket, host, port).run()

    return work


class TunnelBridge:
    """Carries the connections of one attached tunnel until its socket ends."""

    def __init__(self, socket: ClientConnection, host: str, port: int) -> None:
        self._socket = socket
        self._host = host
        self._port = port
        self._connections: dict[str, _Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Answers when the tunnel has ended, whoever ended it."""
        try:
            async for message in self._socket:
                if isinstance(message, bytes):
                    await self._receive(*parse_frame(message))
        except ConnectionClosed:
            pass  # A tunnel has no end but this one.
        finally:
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _receive(self, op: int, name: str, payload: bytes) -> None:
        if op == OPEN:
            connection = _Connection(lambda op, data: self._send(op, name, data))
            self._connections[name] = connection
            task = asyncio.create_task(self._carry(name, connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif (known := self._connections.get(name)) is not None:
            await known.take(op, payload)

    async def _carry(self, name: str, connection: _Connection) -> None:
        try:
            await connection.run(self._host, self._port)
        except ConnectionClosed:
            pass  # The tunnel ended, and with it all it carried.
        finally:
            del self._connections[name]

    async def _send(self, op: int, name: str, payload: bytes) -> None:
        await self._socket.send(frame(op, name, payload))


class _Connection:
    """One connection: what arrives waits here until the local server takes it."""

    def __init__(self, send: Callable[[int, bytes], Awaitable[None]]) -> None:
        self._send = send
        self._inbox: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(_WAITING_PIECES)
        self._over = False

    async def take(self, op: int, payload: bytes) -> None:
        if not self._over:
            await self._inbox.put((op, payload))

    async def run(self, host: str, port: int) -> None:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            self._end()
            await self._send(CLOSE, _RESET)
            return
        both = [asyncio.create_task(way) for way in (self._bring_up(reader), self._bring_down(writer))]
        try:
            await asyncio.gather(*both)
        except _ResetError:
            writer.transport.abort()
        except OSError:
            await self._send(CLOSE, _RESET)
        finally:
            self._end()
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            writer.close()

    def _end(self) -> None:
        """What waits to be taken, or to be put, is for nobody any more."""
        self._over = True
        while not self._inbox.empty():
            self._inbox.get_nowait()

    async def _bring_up(self, reader: asyncio.StreamReader) -> None:
        while piece := await reader.read(_PIECE_BYTES):
            await self._send(DATA, piece)
        await self._send(CLOSE, b"")

    async def _bring_down(self, writer: asyncio.StreamWriter) -> None:
        while True:
            op, payload = await self._inbox.get()
            if op == DATA:
                writer.write(payload)
                await writer.drain()
            elif payload:
                raise _ResetError
            else:
                writer.write_eof()
                return


class _ResetError(Exception):
    """The program in the sandbox broke its connection off."""
