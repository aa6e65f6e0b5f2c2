"""How a sandbox is come by."""

from __future__ import annotations

import builtins
from collections.abc import Mapping

from typing_extensions import Self, Unpack

from .._request import get, path_of, post
from ..answers import CloneList, ErrorInfo, GotOrCreated, SandboxId, SandboxInfo, SandboxList
from ..errors import ApiError, api_error_of_code
from ..requests import CreateSandbox, GetOrCreate
from .client import Client, ConnectOptions, split


class CreateOptions(CreateSandbox, ConnectOptions):
    """What a sandbox is made of, and which daemon makes it."""


class GetOrCreateOptions(GetOrCreate, ConnectOptions):
    """Whose sandbox is asked for, what it is made of if it is new, and which daemon to ask."""


class Launches:
    """What finds, makes and brings back sandboxes."""

    def __init__(
        self,
        client: Client,
        sandbox_id: str,
        *,
        created: bool | None = None,
        last_info: SandboxInfo | None = None,
    ) -> None:
        self.client = client
        self.id = sandbox_id
        self.created = created
        self.last_info = last_info

    @classmethod
    def create(cls, **options: Unpack[CreateOptions]) -> Self:
        """Boots a sandbox. A command can run in it at once.

        Raises:
            ConflictError: the name is taken, or a drive held.
            UnavailableError: the host has no room for it now.
        """
        client, body = split(options)
        return cls(client, (client.ask(SandboxId, post("/sandboxes", body))).id)

    @classmethod
    def get(cls, id_or_name: str, **options: Unpack[ConnectOptions]) -> Self:
        """Finds a live sandbox.

        Raises:
            NotFoundError: there is none.
        """
        client = Client.for_calls(options)
        info = client.ask(SandboxInfo, get(path_of("sandboxes", id_or_name)))
        return cls(client, info.id, last_info=info)

    @classmethod
    def get_or_create(cls, **options: Unpack[GetOrCreateOptions]) -> Self:
        """Finds the sandbox of that name, resumes it if it is stopped, or makes it: see `created`."""
        client, body = split(options)
        answer = client.ask(GotOrCreated, post("/sandboxes/get-or-create", body))
        return cls(client, answer.id, created=answer.created)

    @classmethod
    def by_name(cls, name: str, **options: Unpack[ConnectOptions]) -> Self:
        """Finds the live sandbox of that name.

        Raises:
            NotFoundError: there is none.
            ConflictError: a stopped one has the name; `get_or_create` resumes it.
        """
        client = Client.for_calls(options)
        return cls(client, (client.ask(SandboxId, get(path_of("sandboxes", "by-name", name)))).id)

    @classmethod
    def list(cls, *, tags: Mapping[str, str] | None = None, **options: Unpack[ConnectOptions]) -> builtins.list[Self]:
        """Lists the live sandboxes that have all of these tags. `last_info` of each has its fields."""
        client = Client.for_calls(options)
        query = {f"tag.{key}": value for key, value in (tags or {}).items()}
        answer = client.ask(SandboxList, get("/sandboxes", **query))
        return [cls(client, info.id, last_info=info) for info in answer.sandboxes]

    @classmethod
    def resume(
        cls,
        snapshot_id: str,
        *,
        retain_history: bool | None = None,
        fresh_identity: bool | None = None,
        **options: Unpack[ConnectOptions],
    ) -> Self:
        """Goes on where a sandbox stopped; the snapshot is used up.

        Args:
            snapshot_id: the snapshot.
            retain_history: False removes the snapshot's state, which otherwise stays as a checkpoint.
            fresh_identity: True gives a network identity of its own.
            **options: which daemon to ask.
        """
        query = {"retain_history": retain_history, "fresh_identity": fresh_identity}
        return cls._launch(options, path_of("snapshots", snapshot_id, "resume"), query)

    @classmethod
    def fork(cls, snapshot_id: str, *, fresh_identity: bool | None = None, **options: Unpack[ConnectOptions]) -> Self:
        """Starts a sandbox from a snapshot, which is kept."""
        return cls._launch(options, path_of("snapshots", snapshot_id, "fork"), {"fresh_identity": fresh_identity})

    @classmethod
    def restore(
        cls, checkpoint_id: str, *, fresh_identity: bool | None = None, **options: Unpack[ConnectOptions]
    ) -> Self:
        """Starts a sandbox from a checkpoint, which is kept."""
        path = path_of("snapshots", "history", checkpoint_id, "restore")
        return cls._launch(options, path, {"fresh_identity": fresh_identity})

    @classmethod
    def _launch(cls, options: ConnectOptions, path: str, query: Mapping[str, bool | None]) -> Self:
        client = Client.for_calls(options)
        return cls(client, (client.ask(SandboxId, post(path, **query))).id)

    @classmethod
    def clone(
        cls,
        snapshot_id: str,
        count: int,
        *,
        name_prefix: str | None = None,
        tags: Mapping[str, str] | None = None,
        **options: Unpack[ConnectOptions],
    ) -> builtins.list[Self | ApiError]:
        """Starts many sandboxes from a snapshot, which is kept, each with a network identity of its own.

        Gives one entry for each, in order: a sandbox, or the error that kept it from starting.
        """
        client = Client.for_calls(options)
        body = {"count": count, "name_prefix": name_prefix, "tags": tags}
        answer = client.ask(CloneList, post(path_of("snapshots", snapshot_id, "clone"), body))
        return [
            api_error_of_code(each.code, each.error) if isinstance(each, ErrorInfo) else cls(client, each.id)
            for each in answer.sandboxes
        ]
