from __future__ import annotations

import uuid

from aborting import async_abort
from polling import async_until

from atoll import AsyncSandbox, Sandbox


async def test_exec_gives_output_and_exit_code(sandbox: AsyncSandbox) -> None:
    result = await sandbox.exec("sh", ["-c", "echo out; echo err >&2; exit 3"])
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    assert (result.stdout_bytes, result.stderr_bytes, result.timed_out) == (b"out\n", b"err\n", None)
    assert (await sandbox.exec("no-such-program")).exit_code == 127


async def test_exec_takes_env_cwd_and_user(sandbox: AsyncSandbox) -> None:
    result = await sandbox.exec("sh", ["-c", "echo $A; pwd; id -un"], env={"A": "b"}, cwd="/tmp", user="nobody")
    assert result.stdout == "b\n/tmp\nnobody\n"


async def test_exec_feeds_stdin(sandbox: AsyncSandbox) -> None:
    assert (await sandbox.exec("tr", ["a-z", "A-Z"], stdin="grüße")).stdout == "GRüßE"
    assert (await sandbox.exec("cat", stdin=b"bytes")).stdout == "bytes"


async def test_exec_that_takes_too_long_is_timed_out(sandbox: AsyncSandbox) -> None:
    result = await sandbox.exec("sh", ["-c", "echo begun; sleep 600"], timeout_ms=500)
    assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "begun\n")


async def test_exec_of_bytes_that_are_no_text(sandbox: AsyncSandbox) -> None:
    result = await sandbox.exec("printf", [r"\377\000\001"])
    assert result.stdout_bytes == b"\xff\x00\x01"
    assert result.stdout == "\ufffd\x00\x01"


async def test_exec_can_be_aborted(sandbox: AsyncSandbox) -> None:
    mark = f"/tmp/{uuid.uuid4()}"

    def has_begun() -> bool:
        return Sandbox.get(sandbox.id).exec("test", ["-e", mark]).exit_code == 0

    async def has_ended() -> bool:
        return (await sandbox.exec("pgrep", ["-f", f"tail -f {mark}"])).exit_code == 1

    await async_abort(lambda: sandbox.exec("sh", ["-c", f"touch {mark}; exec tail -f {mark}"]), has_begun)
    await async_until(has_ended)
