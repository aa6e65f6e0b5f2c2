"""Files and folders of a sandbox."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

from .._archive import pack, read_file, unpack, write_file
from .._request import Request, get, path_of, post
from ..answers import DirEntry, ListDirResult, ReadFileResult, ReadlinkResult
from ..errors import ApiError, AtollError
from ..results import CommandResult
from . import runtime
from .client import AsyncClient


class AsyncFiles:
    """Files and folders of a sandbox. What its file system refuses is an `InvalidRequestError` with an errno's name."""

    def __init__(self, client: AsyncClient, sandbox: str) -> None:
        self._client = client
        self._sandbox = sandbox

    async def read(self, path: str) -> bytes:
        """Gives the content of a file."""
        return (await self._client.call(get(self._path("files"), path=path))).content

    async def read_base64(self, path: str) -> str:
        """Gives the content of a file in base64, as the wire has it."""
        return (await self._client.ask(ReadFileResult, self._post("read-file", path=path))).content_base64

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        """Gives the content of a file of text."""
        return (await self.read(path)).decode(encoding)

    async def read_stream(self, path: str) -> AsyncIterator[bytes]:
        """Gives the content of a file piece by piece, whatever its size."""
        async with self._client.stream(get(self._path("files"), path=path)) as response:
            async for piece in response.aiter_bytes():
                yield piece

    async def write(self, path: str, content: runtime.Content) -> None:
        """Makes a file, or replaces its content. A file opened for reading and an iterable of bytes are streamed."""
        await self._put("files", path, runtime.pieces_of(content))

    async def write_base64(self, path: str, content: str) -> None:
        """Makes a file, or replaces its content, with what is given in base64. Not for large files."""
        await self._client.call(self._post("write-file", path=path, content_base64=content))

    async def list(self, path: str) -> list[DirEntry]:
        """Lists a folder, sorted by name."""
        return (await self._client.ask(ListDirResult, self._post("list-dir", path=path))).entries

    async def mkdir(self, path: str, *, parents: bool = False) -> None:
        """Makes a folder; with `parents` those above it too, and one that exists is fine."""
        await self._client.call(self._post("mkdir", path=path, parents=parents))

    async def rename(self, source: str, target: str) -> None:
        """Renames or moves."""
        await self._client.call(self._post("rename", **{"from": source, "to": target}))

    async def copy(self, source: str, target: str) -> None:
        """Copies a file or a whole folder."""
        await self._client.call(self._post("copy", **{"from": source, "to": target}))

    async def symlink(self, target: str, link_path: str) -> None:
        """Makes a symbolic link at `link_path` that leads to `target`."""
        await self._client.call(self._post("symlink", target=target, link_path=link_path))

    async def readlink(self, path: str) -> str:
        """Gives where a symbolic link leads."""
        return (await self._client.ask(ReadlinkResult, self._post("readlink", path=path))).target

    async def truncate(self, path: str, size: int) -> None:
        """Sets the size of a file, in bytes."""
        await self._client.call(self._post("truncate", path=path, size=size))

    async def chmod(self, path: str, mode: int) -> None:
        """Sets permission bits, such as 0o644."""
        await self._client.call(self._post("chmod", path=path, mode=mode))

    async def chown(self, path: str, uid: int, gid: int) -> None:
        """Sets owner and group."""
        await self._client.call(self._post("chown", path=path, uid=uid, gid=gid))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file, a link or an empty folder; with `recursive` a folder with all in it, and nothing is fine too.

        Raises:
            AtollError: the guest's `rm` failed; the message has what it said.
        """
        args = ["-rf" if recursive else "-d", "--", path]
        result = await self._client.ask(CommandResult, self._post("exec", command="rm", args=args))
        if result.exit_code != 0:
            raise AtollError(f"{path} was not removed: {result.stderr.strip()}")

    async def upload(self, local_path: str | os.PathLike[str], path: str) -> None:
        """Brings a file to `path`, or the contents of a folder into the folder `path`.

        A file keeps its mode; what is in a folder its links, modes and times.
        """
        local = Path(local_path)
        if local.is_dir():
            await self._put("archive", path, runtime.pieces_of(pack(local)))
        else:
            mode = local.stat().st_mode & 0o777
            await self._put("files", path, runtime.pieces_of(read_file(local)))
            await self.chmod(path, mode)

    async def download(self, path: str, local_path: str | os.PathLike[str]) -> None:
        """Brings a file to `local_path`, or the contents of a folder into the folder `local_path`.

        A file keeps its mode; what is in a folder its links, modes and times. The folder is made if it is missing. What
        would be written outside of it is refused.
        """
        local = Path(local_path)
        try:
            async with self._client.stream(get(self._path("files"), path=path)) as response:
                mode = await self._mode_of(path)
                await runtime.consume(response.aiter_bytes(), lambda next_piece: write_file(next_piece, local, mode))
        except ApiError as error:
            if error.code != "EISDIR":
                raise
            async with self._client.stream(get(self._path("archive"), path=path)) as response:
                await runtime.consume(response.aiter_bytes(), lambda next_piece: unpack(next_piece, local))

    async def _mode_of(self, path: str) -> int | None:
        """Permission bits of a file; those of a file that a link leads to are not asked for."""
        place = PurePosixPath(path)
        files = [entry for entry in await self.list(str(place.parent)) if entry.type == "file"]
        return next((entry.mode & 0o777 for entry in files if entry.name == place.name), None)

    async def _put(self, route: str, path: str, content: AsyncIterator[bytes]) -> None:
        await self._client.call(Request("PUT", self._path(route), (("path", path),)), content=content)

    def _path(self, route: str) -> str:
        return path_of("sandboxes", self._sandbox, route)

    def _post(self, route: str, **body: object) -> Request:
        return post(self._path(route), body)
