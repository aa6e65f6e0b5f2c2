from __future__ import annotations

import pytest

from atoll import AtollError, ConnectionError, Sandbox, Terminal


def read_until(terminal: Terminal, text: bytes) -> bytes:
    seen = b""
    for piece in terminal.output():
        seen += piece
        if text in seen:
            return seen
    raise AssertionError(f"{text!r} did not come; what came is {seen!r}")


def test_a_terminal_runs_a_shell(sandbox: Sandbox) -> None:
    with sandbox.pty(cols=100, rows=30) as terminal:
        terminal.write("stty size; tty\n")
        seen = read_until(terminal, b"/dev/pts/")
        assert b"30 100" in seen
        terminal.write(b"echo $((6 * 7))\n")
        read_until(terminal, b"42")


def test_a_terminal_resizes(sandbox: Sandbox) -> None:
    with sandbox.pty() as terminal:
        terminal.write("trap 'echo now $(stty size)' WINCH; echo rea''dy\n")
        read_until(terminal, b"ready")
        terminal.resize(121, 41)
        terminal.write("\n")
        read_until(terminal, b"now 41 121")
        terminal.resize(0, 0)
        with pytest.raises(AtollError, match="resize"):
            terminal.wait()


def test_a_terminal_tells_the_exit_code(sandbox: Sandbox) -> None:
    with sandbox.pty() as terminal:
        terminal.write("exit 9\n")
        assert terminal.wait() == 9
        assert terminal.exit_code == 9
    terminal = sandbox.pty()
    terminal.close()
    with pytest.raises(ConnectionError, match="ended early"):
        terminal.write("echo\n")
