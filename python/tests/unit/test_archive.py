from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll._archive import pack, unpack, write_file
from atoll.errors import AtollError


def source(data: bytes, piece_bytes: int = 1000) -> Callable[[], bytes]:
    pieces = iter([data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)])
    return lambda: next(pieces, b"")


def member(name: str, kind: bytes = tarfile.REGTYPE, linkname: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, linkname, size, 0o644
    return info


def archive(*members: tarfile.TarInfo) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as made:
        for each in members:
            made.addfile(each, io.BytesIO(b"x" * each.size))
    return target.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "folder"
    assert sorted(path.name for path in tmp_path.iterdir()) in (["folder"], ["folder", "outside"])


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "a/../../escaped"])
def test_a_member_outside_of_the_folder_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(AtollError, match="is not unpacked"):
        unpack(source(archive(member(name, size=3))), folder)
    assert not Path("/escaped").exists()


def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    through = archive(member("link", tarfile.SYMTYPE, str(outside)), member("link/escaped", size=3))
    with pytest.raises(AtollError, match="leads through the link"):
        unpack(source(through), folder)
    over = archive(member("link", tarfile.SYMTYPE, f"{outside}/escaped"), member("link", size=3))
    unpack(source(over), folder)
    assert (folder / "link").read_bytes() == b"xxx"
    as_folder = archive(member("dir", tarfile.SYMTYPE, str(outside)), member("dir", tarfile.DIRTYPE))
    with pytest.raises(AtollError, match="is a link"):
        unpack(source(as_folder), folder)
    assert list(outside.iterdir()) == []


def test_a_hard_link_leads_nowhere_else(folder: Path) -> None:
    with pytest.raises(AtollError, match="is not unpacked"):
        unpack(source(archive(member("link", tarfile.LNKTYPE, "/etc/hostname"))), folder)
    unpack(source(archive(member("file", size=3), member("link", tarfile.LNKTYPE, "file"))), folder)
    assert (folder / "link").stat().st_ino == (folder / "file").stat().st_ino


def test_a_device_is_refused(folder: Path) -> None:
    with pytest.raises(AtollError, match="no file, folder or link"):
        unpack(source(archive(member("null", tarfile.CHRTYPE))), folder)


def test_an_archive_that_is_cut_off_is_an_error(folder: Path) -> None:
    with pytest.raises(AtollError, match="cut off"):
        unpack(source(archive(member("file", size=5000))[:2000]), folder)


def test_what_is_packed_comes_out_as_it_was(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (folder / "closed").mkdir()
    (folder / "closed" / "file").write_bytes(b"0123456789" * 100_000)
    (folder / "closed" / "file").chmod(0o600)
    (folder / "link").symlink_to("/nowhere")
    (folder / "closed").chmod(0o500)
    copy = tmp_path / "outside"
    unpack(source(b"".join(pack(folder))), copy)
    assert (copy / "closed" / "file").read_bytes() == b"0123456789" * 100_000
    assert [oct(path.stat().st_mode & 0o777) for path in (copy / "closed", copy / "closed/file")] == ["0o500", "0o600"]
    assert str((copy / "link").readlink()) == "/nowhere"


def broken_off() -> Callable[[], bytes]:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise OSError("broken off")

    return pieces().__next__


def test_a_file_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    with pytest.raises(OSError, match="broken off"):
        write_file(broken_off(), file, None)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]
    write_file(source(b"after"), file, None)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"after"]


def test_a_file_takes_the_place_of_the_one_before_with_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    write_file(source(b"after"), file, 0o750)
    assert (file.read_bytes(), oct(file.stat().st_mode & 0o777)) == (b"after", "0o750")
    assert list(tmp_path.iterdir()) == [file]


def test_a_device_takes_the_bytes_of_a_file_and_no_mode() -> None:
    null = Path("/dev/null")
    before = null.stat().st_mode
    write_file(source(b"gone"), null, 0o600)
    assert null.stat().st_mode == before
