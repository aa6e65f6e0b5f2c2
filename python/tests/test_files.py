from __future__ import annotations

import hashlib
import io
import os
import stat
import uuid
from pathlib import Path

import pytest

from atoll import AtollError, InvalidRequestError, Sandbox

MIB = 1024 * 1024


def place() -> str:
    return f"/root/{uuid.uuid4()}"


def test_write_and_read_text(sandbox: Sandbox) -> None:
    path = place()
    sandbox.files.write(path, "grüße\n")
    assert sandbox.files.read_text(path) == "grüße\n"
    sandbox.files.write(path, "")
    assert sandbox.files.read_text(path) == ""


def test_write_and_read_bytes(sandbox: Sandbox) -> None:
    path = place()
    small, large = os.urandom(1000), os.urandom(2 * MIB)
    sandbox.files.write(path, small)
    assert sandbox.files.read(path) == small
    sandbox.files.write(path, large)
    assert sandbox.files.read(path) == large
    sandbox.files.write_base64(path, "AP8=")
    assert (sandbox.files.read_base64(path), sandbox.files.read(path)) == ("AP8=", b"\x00\xff")


def test_a_stream_goes_up_and_down(sandbox: Sandbox) -> None:
    path = place()
    pieces = [os.urandom(100_000) for _ in range(30)]
    sandbox.files.write(path, iter(pieces))
    down = [piece for piece in sandbox.files.read_stream(path)]
    assert b"".join(down) == b"".join(pieces)
    assert len(down) > 1
    sandbox.files.write(path, io.BytesIO(b"a\nb"))
    assert sandbox.files.read(path) == b"a\nb"


def test_list_shows_every_kind(sandbox: Sandbox) -> None:
    path = place()
    sandbox.files.mkdir(path)
    script = "echo four >file; mkdir dir; ln -s file symlink; mkfifo fifo; mknod char c 1 3; mknod block b 7 0"
    assert (sandbox.exec("sh", ["-c", script], cwd=path)).stderr == ""
    entries = {entry.name: entry for entry in sandbox.files.list(path)}
    assert [(name, entries[name].type) for name in entries] == [
        (name, name) for name in ("block", "char", "dir", "fifo", "file", "symlink")
    ]
    file = entries["file"]
    assert (file.size, file.mode, file.is_dir, file.is_symlink) == (5, 0o644, False, False)
    assert (entries["dir"].is_dir, entries["symlink"].is_symlink) == (True, True)
    assert file.mtime_unix > 1_700_000_000


def test_mkdir_rename_copy_and_remove(sandbox: Sandbox) -> None:
    files, path = sandbox.files, place()
    files.mkdir(f"{path}/a/b", parents=True)
    files.write(f"{path}/a/b/file", "content")
    files.rename(f"{path}/a", f"{path}/moved")
    files.copy(f"{path}/moved", f"{path}/copied")
    assert files.read_text(f"{path}/copied/b/file") == "content"
    assert [entry.name for entry in files.list(path)] == ["copied", "moved"]
    with pytest.raises(AtollError, match="not removed"):
        files.remove(f"{path}/moved")
    files.remove(f"{path}/moved", recursive=True)
    files.remove(f"{path}/copied/b/file")
    files.remove(f"{path}/copied/b")
    assert files.list(f"{path}/copied") == []


def test_symlink_and_readlink(sandbox: Sandbox) -> None:
    path = place()
    sandbox.files.symlink("/etc/hostname", path)
    assert sandbox.files.readlink(path) == "/etc/hostname"


def test_truncate_chmod_and_chown(sandbox: Sandbox) -> None:
    path = place()
    sandbox.files.write(path, "0123456789")
    sandbox.files.truncate(path, 4)
    sandbox.files.chmod(path, 0o4751)
    sandbox.files.chown(path, 1000, 1001)
    sandbox.files.chmod(path, 0o640)
    assert sandbox.files.read_text(path) == "0123"
    assert (sandbox.exec("stat", ["-c", "%a %u %g", path])).stdout == "640 1000 1001\n"


def make_tree(root: Path) -> None:
    (root / "sub" / "empty").mkdir(parents=True)
    (root / "large").write_bytes(os.urandom(MIB + 1))
    (root / "sub" / "script").write_text("#!/bin/sh\n")
    (root / "sub" / "script").chmod(0o755)
    (root / "sub" / ("long" * 40)).write_text("a long name")
    (root / "grüße").write_text("a name that is no ASCII")
    (root / "link").symlink_to("sub/script")
    (root / "broken").symlink_to("/nowhere")
    for path in (root / "large", root / "sub"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    (root / "sub" / "empty").chmod(0o700)


def described(root: Path) -> dict[str, tuple[object, ...]]:
    return {str(path.relative_to(root)): _described(path) for path in root.rglob("*")}


def _described(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    if path.is_symlink():
        return ("link", str(path.readlink()))
    mode = stat.S_IMODE(status.st_mode)
    if path.is_dir():
        return ("dir", mode, int(status.st_mtime))
    return ("file", mode, int(status.st_mtime), hashlib.sha256(path.read_bytes()).hexdigest())


def test_a_folder_goes_up_and_down_with_links_and_modes(sandbox: Sandbox, tmp_path: Path) -> None:
    make_tree(tmp_path / "up")
    path = place()
    sandbox.files.upload(tmp_path / "up", path)
    assert (sandbox.exec("stat", ["-c", "%a %Y %F", "sub"], cwd=path)).stdout == "755 1600000000 directory\n"
    assert (sandbox.exec("sub/script", cwd=path)).exit_code == 0
    sandbox.files.download(path, tmp_path / "down")
    assert described(tmp_path / "down") == described(tmp_path / "up")


def test_a_file_goes_up_and_down(sandbox: Sandbox, tmp_path: Path) -> None:
    path = place()
    (tmp_path / "up").write_bytes(os.urandom(3 * MIB))
    (tmp_path / "up").chmod(0o750)
    sandbox.files.upload(tmp_path / "up", path)
    assert (sandbox.exec("stat", ["-c", "%a %s", path])).stdout == f"750 {3 * MIB}\n"
    sandbox.files.download(path, tmp_path / "down")
    assert (tmp_path / "down").read_bytes() == (tmp_path / "up").read_bytes()
    assert stat.S_IMODE((tmp_path / "down").stat().st_mode) == 0o750


def test_a_missing_file_is_an_error_with_its_errno(sandbox: Sandbox, tmp_path: Path) -> None:
    path = place()
    for call in (sandbox.files.read, sandbox.files.list, lambda path: sandbox.files.download(path, tmp_path / "none")):
        with pytest.raises(InvalidRequestError, match=path) as caught:
            call(path)
        assert caught.value.code == "ENOENT"
    with pytest.raises(InvalidRequestError) as caught:
        sandbox.files.write("/etc/hostname/file", os.urandom(2 * MIB))
    assert caught.value.code == "ENOTDIR"
    assert not (tmp_path / "none").exists()
