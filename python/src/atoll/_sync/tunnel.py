"""Tunnels."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from typing_extensions import Self

from .._http_errors import handshake_errors
from .._request import delete, path_of, post
from .._tunnel_bridge import attach
from ..answers import TunnelInfo
from ..errors import NotFoundError
from . import runtime
from .client import Client


class Tunnel:
    """A port inside a sandbox that reaches a server near the caller. Its end frees the port."""

    def __init__(self, client: Client, sandbox: str, info: TunnelInfo, bridge: runtime.Background) -> None:
        self._client = client
        self._sandbox = sandbox
        self._bridge = bridge
        self.id = info.tunnel_id
        self.guest_port = info.guest_port
        """The port of the sandbox's 127.0.0.1."""

    @classmethod
    def open(cls, client: Client, sandbox: str, guest_port: int, host: str, port: int) -> Self:
        """Makes a tunnel and attaches to it."""
        info = client.ask(TunnelInfo, post(path_of("sandboxes", sandbox, "tunnel"), {"guest_port": guest_port}))
        path = path_of("sandboxes", sandbox, "tunnel", info.tunnel_id, "ws")
        bridge = runtime.Background(attach(client.settings.socket_url + path, client.settings.headers, host, port))
        try:
            with handshake_errors(client.url):
                bridge.started()
        except BaseException:
            bridge.stop()
            _remove(client, sandbox, info.tunnel_id)
            raise
        return cls(client, sandbox, info, bridge)

    def close(self) -> None:
        """Ends the tunnel and the connections through it."""
        _remove(self._client, self._sandbox, self.id)
        self._bridge.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def _remove(client: Client, sandbox: str, tunnel: str) -> None:
    with suppress(NotFoundError):  # It may have ended with its sandbox, or with its socket.
        client.call(delete(path_of("sandboxes", sandbox, "tunnel", tunnel)))
