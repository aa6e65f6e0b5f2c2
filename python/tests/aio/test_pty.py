from __future__ import annotations

import pytest

from atoll import AsyncSandbox, AsyncTerminal, AtollError, ConnectionError


async def read_until(terminal: AsyncTerminal, text: bytes) -> bytes:
    seen = b""
    async for piece in terminal.output():
        seen += piece
        if text in seen:
            return seen
    raise AssertionError(f"{text!r} did not come; what came is {seen!r}")


async def test_a_terminal_runs_a_shell(sandbox: AsyncSandbox) -> None:
    async with await sandbox.pty(cols=100, rows=30) as terminal:
        await terminal.write("stty size; tty\n")
        seen = await read_until(terminal, b"/dev/pts/")
        assert b"30 100" in seen
        await terminal.write(b"echo $((6 * 7))\n")
        await read_until(terminal, b"42")


async def test_a_terminal_resizes(sandbox: AsyncSandbox) -> None:
    async with await sandbox.pty() as terminal:
        await terminal.write("trap 'echo now $(stty size)' WINCH; echo rea''dy\n")
        await read_until(terminal, b"ready")
        await terminal.resize(121, 41)
        await terminal.write("\n")
        await read_until(terminal, b"now 41 121")
        await terminal.resize(0, 0)
        with pytest.raises(AtollError, match="resize"):
            await terminal.wait()


async def test_a_terminal_tells_the_exit_code(sandbox: AsyncSandbox) -> None:
    async with await sandbox.pty() as terminal:
        await terminal.write("exit 9\n")
        assert await terminal.wait() == 9
        assert terminal.exit_code == 9
    terminal = await sandbox.pty()
    await terminal.close()
    with pytest.raises(ConnectionError, match="ended early"):
        await terminal.write("echo\n")
