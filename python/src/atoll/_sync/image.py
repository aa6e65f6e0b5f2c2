"""Images."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import Self, Unpack

from .._request import delete, get, path_of, post
from ..answers import ImageInfo, ImageList
from .client import Client, ConnectOptions
from .owned import Owned, owned


@dataclass(frozen=True, kw_only=True)
class Image(ImageInfo, Owned):
    """A root file system that sandboxes boot from, as it was when it was asked for."""

    @classmethod
    def register(cls, image_id: str, path: str, **options: Unpack[ConnectOptions]) -> Self:
        """Registers an ext4 file of the daemon's host, which is copied, under an id."""
        client = Client.for_calls(options)
        return owned(cls, client, client.ask(ImageInfo, post("/images", {"id": image_id, "path": path})))

    @classmethod
    def list(cls, **options: Unpack[ConnectOptions]) -> list[Self]:
        """Lists the images, with who boots from them."""
        client = Client.for_calls(options)
        return [owned(cls, client, image) for image in (client.ask(ImageList, get("/images"))).images]

    @classmethod
    def remove(cls, image_id: str, **options: Unpack[ConnectOptions]) -> None:
        """Does as `delete`, by id alone."""
        Client.for_calls(options).call(delete(path_of("images", image_id)))

    def delete(self) -> None:
        """Removes the image.

        Raises:
            ConflictError: a sandbox or snapshot stands on it.
        """
        self.remove(self.id, client=self.client)
