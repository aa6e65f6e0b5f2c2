"""Pools."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of, post
from ..answers import PoolInfo, PoolList
from ..requests import CreatePool
from .client import Client, ConnectOptions, split
from .owned import Owned, owned


class PoolOptions(CreatePool, ConnectOptions):
    """What a pool is made of, and which daemon makes it."""


@dataclass(frozen=True, kw_only=True)
class Pool(PoolInfo, Owned):
    """Sandboxes kept ready, as they were when they were asked for."""

    @classmethod
    def create(cls, **options: Unpack[PoolOptions]) -> Self:
        """Makes a pool; what it keeps ready is made in the background."""
        client, body = split(options)
        return owned(cls, client, client.ask(PoolInfo, post("/pools", body)))

    @classmethod
    def list(cls, **options: Unpack[ConnectOptions]) -> list[Self]:
        """Lists the pools, with what is ready."""
        client = Client.for_calls(options)
        return [owned(cls, client, pool) for pool in (client.ask(PoolList, get("/pools"))).pools]

    @classmethod
    def remove(cls, pool_id: str, **options: Unpack[ConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        Client.for_calls(options).call(delete(path_of("pools", pool_id)))

    def delete(self) -> None:
        """Removes the pool and what it has ready; sandboxes that came from it go on."""
        self.remove(self.id, client=self.client)
