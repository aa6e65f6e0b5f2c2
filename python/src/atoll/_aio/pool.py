"""Pools."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of, post
from ..answers import PoolInfo, PoolList
from ..requests import CreatePool
from .client import AsyncClient, AsyncConnectOptions, split
from .owned import AsyncOwned, owned


class AsyncPoolOptions(CreatePool, AsyncConnectOptions):
    """What a pool is made of, and which daemon makes it."""


@dataclass(frozen=True, kw_only=True)
class AsyncPool(PoolInfo, AsyncOwned):
    """Sandboxes kept ready, as they were when they were asked for."""

    @classmethod
    async def create(cls, **options: Unpack[AsyncPoolOptions]) -> Self:
        """Makes a pool; what it keeps ready is made in the background."""
        client, body = split(options)
        return owned(cls, client, await client.ask(PoolInfo, post("/pools", body)))

    @classmethod
    async def list(cls, **options: Unpack[AsyncConnectOptions]) -> list[Self]:
        """Lists the pools, with what is ready."""
        client = AsyncClient.for_calls(options)
        return [owned(cls, client, pool) for pool in (await client.ask(PoolList, get("/pools"))).pools]

    @classmethod
    async def remove(cls, pool_id: str, **options: Unpack[AsyncConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        await AsyncClient.for_calls(options).call(delete(path_of("pools", pool_id)))

    async def delete(self) -> None:
        """Removes the pool and what it has ready; sandboxes that came from it go on."""
        await self.remove(self.id, client=self.client)
