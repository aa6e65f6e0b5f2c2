"""Drives."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of, post
from ..answers import DriveInfo, DriveList
from .client import Client, ConnectOptions
from .owned import Owned, owned


@dataclass(frozen=True, kw_only=True)
class Drive(DriveInfo, Owned):
    """A disk that outlives sandboxes, as it was when it was asked for."""

    @classmethod
    def create(cls, size_mib: int, **options: Unpack[ConnectOptions]) -> Self:
        """Makes a drive with an empty ext4 file system of this size."""
        client = Client.for_calls(options)
        return owned(cls, client, client.ask(DriveInfo, post("/drives", {"size_mib": size_mib})))

    @classmethod
    def list(cls, **options: Unpack[ConnectOptions]) -> list[Self]:
        """Lists the drives, with who holds them."""
        client = Client.for_calls(options)
        return [owned(cls, client, drive) for drive in (client.ask(DriveList, get("/drives"))).drives]

    @classmethod
    def remove(cls, drive_id: str, **options: Unpack[ConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        Client.for_calls(options).call(delete(path_of("drives", drive_id)))

    def delete(self) -> None:
        """Removes the drive and what is on it.

        Raises:
            ConflictError: a sandbox or snapshot holds it.
        """
        self.remove(self.id, client=self.client)
