"""A daemon that goes away: a relay in front of the real one, which cuts connections."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from urllib.parse import urlsplit

from typing_extensions import Self

_PIECE_BYTES = 64 * 1024


class Relay:
    """Passes connections on to a daemon, except for the first few, which it cuts once a request has come.

    Args:
        url: the daemon.
        cuts: how many connections are cut.
    """

    def __init__(self, url: str, cuts: int = 0) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 80)
        self._cuts = cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.requests: list[bytes] = []
        """The first line of what came over each connection."""
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Ends every connection, and takes no more."""
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # It is closed.
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=[connection], daemon=True).start()

    def _carry(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            first = connection.recv(_PIECE_BYTES)
            self.requests.append(first.split(b"\r\n")[0])
            if len(self.requests) <= self._cuts:
                return
            with socket.create_connection(self._target) as upstream:
                self._open += [connection, upstream]
                upstream.sendall(first)
                threading.Thread(target=_copy, args=[upstream, connection], daemon=True).start()
                _copy(connection, upstream)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
