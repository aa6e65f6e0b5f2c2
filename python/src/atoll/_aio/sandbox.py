"""Sandboxes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import httpx
from typing_extensions import Self

from .._parse import parse
from .._preview import preview_target, preview_url
from .._request import delete, get, path_of, post
from ..answers import (
    ExecStreamId,
    SandboxInfo,
    SnapshotId,
    Stopped,
)
from ..errors import NotFoundError
from ..results import CommandResult
from .client import AsyncClient
from .files import AsyncFiles
from .launches import AsyncLaunches
from .mounts import AsyncMounts
from .process import AsyncProcess, sessions
from .terminal import AsyncTerminal
from .tunnel import AsyncTunnel

if TYPE_CHECKING:
    from .snapshot import AsyncSnapshot


_GRACE_SECS = 30


class AsyncSandbox(AsyncLaunches):
    """One sandbox: a microVM that runs commands. A `with` block destroys it at its end, with all it holds.

    Attributes:
        id: its id.
        files: its files and folders.
        mounts: the buckets mounted in it.
        created: after `get_or_create`, whether it is new.
        last_info: what `get`, `list` or `info` said last.
    """

    def __init__(
        self,
        client: AsyncClient,
        sandbox_id: str,
        *,
        created: bool | None = None,
        last_info: SandboxInfo | None = None,
    ) -> None:
        super().__init__(client, sandbox_id, created=created, last_info=last_info)
        self.files = AsyncFiles(client, sandbox_id)
        self.mounts = AsyncMounts(client, sandbox_id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r})"

    def with_timeout(self, timeout: float | None) -> Self:
        """Gives the same sandbox with another patience, in seconds, for every call."""
        return type(self)(self.client.with_timeout(timeout), self.id, created=self.created)

    async def info(self) -> SandboxInfo:
        """Gives name, tags, sizes and the rest."""
        self.last_info = await self.client.ask(SandboxInfo, get(self._path()))
        return self.last_info

    async def exec(
        self,
        command: str,
        args: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        timeout_ms: int | None = None,
        stdin: bytes | str | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Runs a command to its end. No shell reads it; an exit code that is not 0 is a result, not an error.

        The command dies with the call: when its task is cancelled, on Ctrl-C, or after `timeout`.

        Args:
            command: the program.
            args: its arguments.
            env: variables over those of the sandbox.
            cwd: working directory; / when absent.
            user: name, uid or uid:gid; root when absent.
            timeout_ms: kills the command then; `exit_code` is 124 and `timed_out` True.
            stdin: what it reads.
            timeout: seconds after which the call is given up; half a minute after `timeout_ms`, or never, when absent.
        """
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        body = {
            "command": command,
            "args": None if args is None else [*args],
            "env": env,
            "cwd": cwd,
            "user": user,
            "timeout_ms": timeout_ms,
            "stdin_base64": None if raw is None else b64encode(raw).decode(),
        }
        if timeout is None and timeout_ms is not None:
            timeout = timeout_ms / 1000 + _GRACE_SECS
        return await self.client.ask(CommandResult, post(self._path("exec"), body), timeout=timeout)

    async def spawn(
        self,
        command: str,
        args: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
    ) -> AsyncProcess:
        """Starts a command in the background. It goes on when this program ends. Arguments are as for `exec`."""
        body = {"command": command, "args": None if args is None else [*args], "env": env, "cwd": cwd, "user": user}
        answer = await self.client.ask(ExecStreamId, post(self._path("exec-stream"), body))
        return self.process(answer.id)

    def process(self, process_id: str) -> AsyncProcess:
        """Gives a background command by its id. Nothing is asked yet."""
        return AsyncProcess(self.client, self.id, process_id)

    async def processes(self) -> list[AsyncProcess]:
        """Lists the background commands, oldest first, ended ones too."""
        listed = await sessions(self.client, self.id)
        return [AsyncProcess(self.client, self.id, each.id, exit_code=each.exit_code) for each in listed]

    async def pty(self, *, cols: int = 80, rows: int = 24) -> AsyncTerminal:
        """Opens a login shell on a terminal of this size in characters."""
        return await AsyncTerminal.open(self.client, self.id, cols, rows)

    def preview_url(self, port: int, path: str = "/", *, with_token: bool = False) -> str:
        """Gives the address of a server inside the sandbox.

        Args:
            port: the server's port.
            path: a path, with its query.
            with_token: carries the token, if there is one, in the address: for a browser, which sets no headers.
        """
        target = preview_target(self.id, port, path)
        return preview_url(self.client.settings, target, with_token=with_token)

    async def fetch(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | str | None = None,
        timeout: float | None = -1,
    ) -> httpx.Response:
        """Sends one request to a server inside the sandbox and gives its answer, whatever its status.

        A negative `timeout`, in seconds, is the client's own.
        """
        target = preview_target(self.id, port, path)
        return await self.client.send(method, target, headers=headers, content=content, timeout=timeout)

    async def tunnel(self, guest_port: int, *, port: int, host: str = "127.0.0.1") -> AsyncTunnel:
        """Lets a port of the sandbox's own 127.0.0.1 reach a server near the caller.

        Args:
            guest_port: the port inside the sandbox.
            port: the port of the server.
            host: where the server is, seen from here.
        """
        return await AsyncTunnel.open(self.client, self.id, guest_port, host, port)

    async def close_tunnel(self, tunnel_id: str) -> None:
        """Ends a tunnel by its id, also one that another program made."""
        await self.client.call(delete(self._path("tunnel"), tunnel_id=tunnel_id))

    async def snapshot(self) -> AsyncSnapshot:
        """Stops the sandbox and gives its complete state, to be resumed, forked or cloned."""
        # Each of the two makes the other.
        from .snapshot import AsyncSnapshot  # noqa: PLC0415

        answer = await self.client.ask(SnapshotId, post(self._path("snapshot")))
        return await AsyncSnapshot.get(answer.snapshot_id, client=self.client)

    async def stop(self, *, keep: bool = True) -> Stopped:
        """Stops the sandbox: with `keep` its state stays as a snapshot, else it is gone with all it holds."""
        response = await self.client.call(delete(self._path(), keep=keep))
        return parse(Stopped, response.json()) if response.content else Stopped(kept=False, snapshot_id=None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with suppress(NotFoundError):  # It may have been stopped inside.
            await self.stop(keep=False)

    def _path(self, *route: str) -> str:
        return path_of("sandboxes", self.id, *route)
