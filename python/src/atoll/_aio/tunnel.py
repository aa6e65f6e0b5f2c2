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
from .client import AsyncClient


class AsyncTunnel:
    """A port inside a sandbox that reaches a server near the caller. Its end frees the port."""

    def __init__(self, client: AsyncClient, sandbox: str, info: TunnelInfo, bridge: runtime.Background) -> None:
        self._client = client
        self._sandbox = sandbox
        self._bridge = bridge
        self.id = info.tunnel_id
        self.guest_port = info.guest_port
        """The port of the sandbox's 127.0.0.1."""

    @classmethod
    async def open(cls, client: AsyncClient, sandbox: str, guest_port: int, host: str, port: int) -> Self:
        """Makes a tunnel and attaches to it."""
        info = await client.ask(TunnelInfo, post(path_of("sandboxes", sandbox, "tunnel"), {"guest_port": guest_port}))
        path = path_of("sandboxes", sandbox, "tunnel", info.tunnel_id, "ws")
        bridge = runtime.Background(attach(client.settings.socket_url + path, client.settings.headers, host, port))
        try:
            with handshake_errors(client.url):
                await bridge.started()
        except BaseException:
            await bridge.stop()
            await _remove(client, sandbox, info.tunnel_id)
            raise
        return cls(client, sandbox, info, bridge)

    async def close(self) -> None:
        """Ends the tunnel and the connections through it."""
        await _remove(self._client, self._sandbox, self.id)
        await self._bridge.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()


async def _remove(client: AsyncClient, sandbox: str, tunnel: str) -> None:
    with suppress(NotFoundError):  # It may have ended with its sandbox, or with its socket.
        await client.call(delete(path_of("sandboxes", sandbox, "tunnel", tunnel)))
