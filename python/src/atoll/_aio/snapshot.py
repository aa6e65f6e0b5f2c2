"""Snapshots."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of
from ..answers import SnapshotInfo, SnapshotList
from ..errors import ApiError, NotFoundError
from .client import AsyncClient, AsyncConnectOptions, split
from .owned import AsyncOwned, owned
from .sandbox import AsyncSandbox


class AsyncSnapshotFilter(AsyncConnectOptions, total=False):
    """What must match, and which daemon to ask."""

    source_sandbox_id: str | None
    """The sandbox it was taken of."""
    parent_snapshot_id: str | None
    """The snapshot that sandbox came from."""


@dataclass(frozen=True, kw_only=True)
class AsyncSnapshot(SnapshotInfo, AsyncOwned):
    """The complete state of a stopped sandbox, as it was when it was asked for."""

    @classmethod
    async def list(cls, **options: Unpack[AsyncSnapshotFilter]) -> list[Self]:
        """Lists the held snapshots."""
        client, query = split(options)
        answer = await client.ask(SnapshotList, get("/snapshots", **query))
        return [owned(cls, client, snapshot) for snapshot in answer.snapshots]

    @classmethod
    async def get(cls, snapshot_id: str, **options: Unpack[AsyncConnectOptions]) -> Self:
        """Finds a held snapshot by its id.

        Raises:
            NotFoundError: there is none, or none any more.
        """
        for snapshot in await cls.list(**options):
            if snapshot.id == snapshot_id:
                return snapshot
        raise NotFoundError(f"snapshot not found: {snapshot_id}", status=404, code="NOT_FOUND")

    async def resume(self, *, retain_history: bool | None = None, fresh_identity: bool | None = None) -> AsyncSandbox:
        """Goes on where the sandbox stopped; the snapshot is used up. See `Sandbox.resume`."""
        return await AsyncSandbox.resume(
            self.id, retain_history=retain_history, fresh_identity=fresh_identity, client=self.client
        )

    async def fork(self, *, fresh_identity: bool | None = None) -> AsyncSandbox:
        """Starts a sandbox from it and keeps it. See `Sandbox.fork`."""
        return await AsyncSandbox.fork(self.id, fresh_identity=fresh_identity, client=self.client)

    async def clone(
        self, count: int, *, name_prefix: str | None = None, tags: dict[str, str] | None = None
    ) -> builtins.list[AsyncSandbox | ApiError]:
        """Starts many sandboxes from it and keeps it. See `Sandbox.clone`."""
        return await AsyncSandbox.clone(self.id, count, name_prefix=name_prefix, tags=tags, client=self.client)

    @classmethod
    async def remove(cls, snapshot_id: str, **options: Unpack[AsyncConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        await AsyncClient.for_calls(options).call(delete(path_of("snapshots", snapshot_id)))

    async def delete(self) -> None:
        """Removes it and the state it holds.

        Raises:
            ConflictError: a fork of it is live.
        """
        await self.remove(self.id, client=self.client)
