"""Checkpoints: snapshots that a resume has used up, and that can be restored."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, patch, path_of, post
from ..answers import CheckpointInfo, CheckpointList, Pruned
from .client import AsyncClient, AsyncConnectOptions, split
from .owned import AsyncOwned, owned
from .sandbox import AsyncSandbox
from .snapshot import AsyncSnapshotFilter


@dataclass(frozen=True, kw_only=True)
class AsyncCheckpoint(CheckpointInfo, AsyncOwned):
    """A snapshot that a resume has retired into history, as it was when it was asked for."""

    @classmethod
    async def list(cls, **options: Unpack[AsyncSnapshotFilter]) -> list[Self]:
        """Lists the checkpoints."""
        client, query = split(options)
        answer = await client.ask(CheckpointList, get("/snapshots/history", **query))
        return [owned(cls, client, checkpoint) for checkpoint in answer.checkpoints]

    @classmethod
    async def prune(cls, *, dry_run: bool | None = None, **options: Unpack[AsyncConnectOptions]) -> Pruned:
        """Removes what is beyond the daemon's limits on history, or says what that would be."""
        client = AsyncClient.for_calls(options)
        return await client.ask(Pruned, post("/snapshots/history/prune", {"dry_run": dry_run}))

    async def restore(self, *, fresh_identity: bool | None = None) -> AsyncSandbox:
        """Starts a sandbox from it and keeps it. See `Sandbox.restore`."""
        return await AsyncSandbox.restore(self.id, fresh_identity=fresh_identity, client=self.client)

    async def pin(self, pinned: bool = True) -> Self:
        """Keeps it whatever the limits on history say, or no longer does. Gives it as it is then."""
        request = patch(path_of("snapshots", "history", self.id), {"pinned": pinned})
        return owned(type(self), self.client, await self.client.ask(CheckpointInfo, request))

    @classmethod
    async def remove(cls, checkpoint_id: str, **options: Unpack[AsyncConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        await AsyncClient.for_calls(options).call(delete(path_of("snapshots", "history", checkpoint_id)))

    async def delete(self) -> None:
        """Removes it and the state it holds."""
        await self.remove(self.id, client=self.client)
