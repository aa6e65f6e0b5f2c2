"""Folders as streams of tar: packed piece by piece, and unpacked without writing anywhere else."""

from __future__ import annotations

import io
import os
import tarfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

from .errors import AtollError

PIECE_BYTES = 256 * 1024

# A directory's own bits come last: it may be one that takes no files.
_UNPACK_DIR_MODE = 0o700


def read_file(path: Path) -> Iterator[bytes]:
    """Gives the bytes of a file."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def write_file(next_piece: Callable[[], bytes], file: Path, mode: int | None) -> None:
    """Writes a file, with these permission bits if there are any. One that is there stays as it is until that is whole.

    A device or FIFO takes the bytes as they come, and no permission bits.
    """
    if file.exists() and not file.is_file() and not file.is_dir():
        _write_all(next_piece, file, "wb")
        return
    draft = file.with_name(f".atoll-{uuid.uuid4()}.part")
    try:
        _write_all(next_piece, draft, "xb")
        if mode is not None:
            draft.chmod(mode)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _write_all(next_piece: Callable[[], bytes], file: Path, mode: Literal["wb", "xb"]) -> None:
    with file.open(mode) as target:
        while piece := next_piece():
            target.write(piece)


def pack(folder: Path) -> Iterator[bytes]:
    """Gives the contents of a folder as a tar, with links, modes and times. Sockets are left out: a tar has none."""
    archive = tarfile.TarFile(fileobj=io.BytesIO(), mode="w", format=tarfile.PAX_FORMAT)
    for path in sorted(folder.rglob("*")):
        member = archive.gettarinfo(path, arcname=f"./{path.relative_to(folder)}")
        if member is None:
            continue
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        yield member.tobuf(tarfile.PAX_FORMAT)
        if member.isreg():
            yield from _content(path, member.size)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _content(path: Path, size: int) -> Iterator[bytes]:
    """Gives exactly so many bytes, as the header says, and fills the last block."""
    left = size
    with path.open("rb") as file:
        while left > 0:
            piece = file.read(min(PIECE_BYTES, left))
            if not piece:
                raise AtollError(f"{path} became shorter while it was read")
            left -= len(piece)
            yield piece
    yield bytes(-size % tarfile.BLOCKSIZE)


class ByteReader(io.RawIOBase):
    """A file to read from what gives its next piece, and empty ones at the end."""

    def __init__(self, next_piece: Callable[[], bytes]) -> None:
        self._next_piece = next_piece
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._held:
            self._held = self._next_piece()
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


def unpack(next_piece: Callable[[], bytes], folder: Path) -> None:
    """Unpacks a tar into a folder, which is made if it is missing.

    Raises:
        AtollError: an entry would be written outside of the folder, or is neither file, folder nor link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = io.BufferedReader(ByteReader(next_piece), PIECE_BYTES)
    try:
        _unpack_all(source, folder.resolve())
    except tarfile.TarError as error:
        raise AtollError(f"the archive of {folder} cannot be read, or is cut off: {error}") from error
    while source.read(PIECE_BYTES):
        pass  # What pads the tar is part of the answer.


def _unpack_all(source: io.BufferedReader[ByteReader], root: Path) -> None:
    later: list[tuple[Path, tarfile.TarInfo]] = []
    with tarfile.open(fileobj=source, mode="r|") as archive:
        for member in archive:
            path = _place(root, member.name)
            if member.isdir():
                _make_folder(path)
                later.append((path, member))
            elif path != root:
                _unpack_one(archive, member, path, root)
    for path, member in reversed(later):
        path.chmod(member.mode & 0o777)
        os.utime(path, (member.mtime, member.mtime))


def _unpack_one(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, root: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # What is there may be a link that leads elsewhere.
    path.unlink(missing_ok=True)
    if member.issym():
        path.symlink_to(member.linkname)
        os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
    elif member.islnk():
        os.link(_place(root, member.linkname), path, follow_symlinks=False)
    elif member.isreg():
        _unpack_file(archive, member, path)
    else:
        raise AtollError(f"{member.name}: is no file, folder or link, and is not unpacked")


def _unpack_file(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(member)
    if content is None:
        raise AtollError(f"{member.name}: has no content")
    with path.open("xb") as file:
        while piece := content.read(PIECE_BYTES):
            file.write(piece)
    path.chmod(member.mode & 0o777)
    os.utime(path, (member.mtime, member.mtime))


def _make_folder(path: Path) -> None:
    if path.is_symlink():
        raise AtollError(f"{path}: is a link, and no folder is unpacked through it")
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(_UNPACK_DIR_MODE)


def _place(root: Path, name: str) -> Path:
    """Gives where a member belongs. Nothing on the way may be a link: an earlier member may have made it."""
    parts = [part for part in PurePosixPath(name).parts if part != "."]
    if name.startswith("/") or ".." in parts:
        raise AtollError(f"{name}: is outside of {root}, and is not unpacked")
    path = root
    for part in parts[:-1]:
        path = path / part
        if path.is_symlink():
            raise AtollError(f"{name}: leads through the link {path}, and is not unpacked")
    return path.joinpath(*parts[-1:])
