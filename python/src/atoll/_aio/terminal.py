"""Terminals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType

from typing_extensions import Self
from websockets.exceptions import ConnectionClosed

from .._http_errors import broken_socket
from .._request import get, path_of
from ..errors import AtollError
from . import runtime
from .client import AsyncClient

PROTOCOL = "atoll.pty.v1"


class AsyncTerminal:
    """A login shell on a terminal. Its end, by `close` or that of a `with` block, hangs the shell up."""

    def __init__(self, client: AsyncClient, socket: runtime.Socket, stack: AsyncExitStack) -> None:
        self._client = client
        self._socket = socket
        self._stack = stack
        self._reading: runtime.Event | None = None
        self.exit_code: int | None = None
        """The shell's exit code, once `output` or `wait` has seen its end."""

    @classmethod
    async def open(cls, client: AsyncClient, sandbox: str, cols: int, rows: int) -> Self:
        """Opens a terminal of this size in characters."""
        request = get(path_of("sandboxes", sandbox, "pty"), cols=cols, rows=rows)
        stack = AsyncExitStack()
        socket = await stack.enter_async_context(client.socket(request, PROTOCOL))
        return cls(client, socket, stack)

    async def output(self) -> AsyncIterator[bytes]:
        """Gives what the terminal shows, until the shell ends. To be read by one reader at a time.

        Raises:
            ConnectionError: the sandbox or the daemon went away before the end.
        """
        reading = self._reading = runtime.Event()
        try:
            while self.exit_code is None:
                message = await self._socket.recv()
                if isinstance(message, bytes):
                    yield message
                else:
                    self._take(message)
        except ConnectionClosed as error:
            raise broken_socket(self._client.url, error) from error
        finally:
            reading.set()
            if self._reading is reading:
                self._reading = None

    async def write(self, data: bytes | str) -> None:
        """Types."""
        await self._send(data.encode() if isinstance(data, str) else data)

    async def resize(self, cols: int, rows: int) -> None:
        """Gives the terminal another size. A size that is not taken is an error of `output` and `wait`."""
        await self._send(json.dumps({"type": "resize", "cols": cols, "rows": rows}))

    async def wait(self) -> int:
        """Gives the shell's exit code, at its end. Reads what nobody else reads."""
        if self._reading is not None:
            await self._reading.wait()
        async for _ in self.output():
            pass
        if self.exit_code is None:
            raise AtollError("the terminal ended without an exit code")
        return self.exit_code

    async def close(self) -> None:
        """Hangs up."""
        await self._stack.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, message: str | bytes) -> None:
        try:
            await self._socket.send(message)
        except ConnectionClosed as error:
            raise broken_socket(self._client.url, error) from error

    def _take(self, message: str) -> None:
        event = json.loads(message)
        if event["type"] == "exit":
            self.exit_code = event["exit_code"]
        elif event["type"] == "error":
            raise AtollError(f"the terminal: {event['error']}")
