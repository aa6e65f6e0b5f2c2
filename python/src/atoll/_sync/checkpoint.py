"""Checkpoints: snapshots that a resume has used up, and that can be restored."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, patch, path_of, post
from ..answers import CheckpointInfo, CheckpointList, Pruned
from .client import Client, ConnectOptions, split
from .owned import Owned, owned
from .sandbox import Sandbox
from .snapshot import SnapshotFilter


@dataclass(frozen=True, kw_only=True)
class Checkpoint(CheckpointInfo, Owned):
    """A snapshot that a resume has retired into history, as it was when it was asked for."""

    @classmethod
    def list(cls, **options: Unpack[SnapshotFilter]) -> list[Self]:
        """Lists the checkpoints."""
        client, query = split(options)
        answer = client.ask(CheckpointList, get("/snapshots/history", **query))
        return [owned(cls, client, checkpoint) for checkpoint in answer.checkpoints]

    @classmethod
    def prune(cls, *, dry_run: bool | None = None, **options: Unpack[ConnectOptions]) -> Pruned:
        """Removes what is beyond the daemon's limits on history, or says what that would be."""
        client = Client.for_calls(options)
        return client.ask(Pruned, post("/snapshots/history/prune", {"dry_run": dry_run}))

    def restore(self, *, fresh_identity: bool | None = None) -> Sandbox:
        """Starts a sandbox from it and keeps it. See `Sandbox.restore`."""
        return Sandbox.restore(self.id, fresh_identity=fresh_identity, client=self.client)

    def pin(self, pinned: bool = True) -> Self:
        """Keeps it whatever the limits on history say, or no longer does. Gives it as it is then."""
        request = patch(path_of("snapshots", "history", self.id), {"pinned": pinned})
        return owned(type(self), self.client, self.client.ask(CheckpointInfo, request))

    @classmethod
    def remove(cls, checkpoint_id: str, **options: Unpack[ConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        Client.for_calls(options).call(delete(path_of("snapshots", "history", checkpoint_id)))

    def delete(self) -> None:
        """Removes it and the state it holds."""
        self.remove(self.id, client=self.client)
