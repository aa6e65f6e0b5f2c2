"""Buckets of an object store inside a sandbox."""

from __future__ import annotations

from typing_extensions import Unpack

from .._request import delete, get, path_of, post
from ..answers import MountInfo, MountList
from ..requests import CreateMount
from .client import AsyncClient


class AsyncMounts:
    """The buckets that are mounted in a sandbox."""

    def __init__(self, client: AsyncClient, sandbox: str) -> None:
        self._client = client
        self._sandbox = sandbox

    async def create(self, **mount: Unpack[CreateMount]) -> MountInfo:
        """Mounts a bucket at a path, which is made if it is missing. The keys go nowhere else."""
        return await self._client.ask(MountInfo, post(self._path(), mount))

    async def list(self) -> list[MountInfo]:
        """Lists the mounts, without their keys."""
        return (await self._client.ask(MountList, get(self._path()))).mounts

    async def delete(self, mount_id: str) -> None:
        """Unmounts; what was written before is in the bucket then."""
        await self._client.call(delete(self._path(mount_id)))

    def _path(self, *mount_id: str) -> str:
        return path_of("sandboxes", self._sandbox, "mounts", *mount_id)
