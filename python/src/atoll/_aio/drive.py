"""Drives."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of, post
from ..answers import DriveInfo, DriveList
from .client import AsyncClient, AsyncConnectOptions
from .owned import AsyncOwned, owned


@dataclass(frozen=True, kw_only=True)
class AsyncDrive(DriveInfo, AsyncOwned):
    """A disk that outlives sandboxes, as it was when it was asked for."""

    @classmethod
    async def create(cls, size_mib: int, **options: Unpack[AsyncConnectOptions]) -> Self:
        """Makes a drive with an empty ext4 file system of this size."""
        client = AsyncClient.for_calls(options)
        return owned(cls, client, await client.ask(DriveInfo, post("/drives", {"size_mib": size_mib})))

    @classmethod
    async def list(cls, **options: Unpack[AsyncConnectOptions]) -> list[Self]:
        """Lists the drives, with who holds them."""
        client = AsyncClient.for_calls(options)
        return [owned(cls, client, drive) for drive in (await client.ask(DriveList, get("/drives"))).drives]

    @classmethod
    async def remove(cls, drive_id: str, **options: Unpack[AsyncConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        await AsyncClient.for_calls(options).call(delete(path_of("drives", drive_id)))

    async def delete(self) -> None:
        """Removes the drive and what is on it.

        Raises:
            ConflictError: a sandbox or snapshot holds it.
        """
        await self.remove(self.id, client=self.client)
