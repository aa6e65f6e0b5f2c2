"""Images."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of, post
from ..answers import ImageInfo, ImageList
from .client import AsyncClient, AsyncConnectOptions
from .owned import AsyncOwned, owned


@dataclass(frozen=True, kw_only=True)
class AsyncImage(ImageInfo, AsyncOwned):
    """A root file system that sandboxes boot from, as it was when it was asked for."""

    @classmethod
    async def register(cls, image_id: str, path: str, **options: Unpack[AsyncConnectOptions]) -> Self:
        """Registers an ext4 file of the daemon's host, which is copied, under an id."""
        client = AsyncClient.for_calls(options)
        return owned(cls, client, await client.ask(ImageInfo, post("/images", {"id": image_id, "path": path})))

    @classmethod
    async def list(cls, **options: Unpack[AsyncConnectOptions]) -> list[Self]:
        """Lists the images, with who boots from them."""
        client = AsyncClient.for_calls(options)
        return [owned(cls, client, image) for image in (await client.ask(ImageList, get("/images"))).images]

    @classmethod
    async def remove(cls, image_id: str, **options: Unpack[AsyncConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        await AsyncClient.for_calls(options).call(delete(path_of("images", image_id)))

    async def delete(self) -> None:
        """Removes the image.

        Raises:
            ConflictError: a sandbox or snapshot stands on it.
        """
        await self.remove(self.id, client=self.client)
