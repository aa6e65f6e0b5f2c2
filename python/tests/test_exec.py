from __future__ import annotations

import uuid

from aborting import abort
from polling import until

from atoll import Sandbox


def test_exec_gives_output_and_exit_code(sandbox: Sandbox) -> None:
    result = sandbox.exec("sh", ["-c", "echo out; echo err >&2; exit 3"])
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    assert (result.stdout_bytes, result.stderr_bytes, result.timed_out) == (b"out\n", b"err\n", None)
    assert (sandbox.exec("no-such-program")).exit_code == 127


def test_exec_takes_env_cwd_and_user(sandbox: Sandbox) -> None:
    result = sandbox.exec("sh", ["-c", "echo $A; pwd; id -un"], env={"A": "b"}, cwd="/tmp", user="nobody")
    assert result.stdout == "b\n/tmp\nnobody\n"


def test_exec_feeds_stdin(sandbox: Sandbox) -> None:
    assert (sandbox.exec("tr", ["a-z", "A-Z"], stdin="grüße")).stdout == "GRüßE"
    assert (sandbox.exec("cat", stdin=b"bytes")).stdout == "bytes"


def test_exec_that_takes_too_long_is_timed_out(sandbox: Sandbox) -> None:
    result = sandbox.exec("sh", ["-c", "echo begun; sleep 600"], timeout_ms=500)
    assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "begun\n")


def test_exec_of_bytes_that_are_no_text(sandbox: Sandbox) -> None:
    result = sandbox.exec("printf", [r"\377\000\001"])
    assert result.stdout_bytes == b"\xff\x00\x01"
    assert result.stdout == "\ufffd\x00\x01"


def test_exec_can_be_aborted(sandbox: Sandbox) -> None:
    mark = f"/tmp/{uuid.uuid4()}"

    def has_begun() -> bool:
        return Sandbox.get(sandbox.id).exec("test", ["-e", mark]).exit_code == 0

    def has_ended() -> bool:
        return (sandbox.exec("pgrep", ["-f", f"tail -f {mark}"])).exit_code == 1

    abort(lambda: sandbox.exec("sh", ["-c", f"touch {mark}; exec tail -f {mark}"]), has_begun)
    until(has_ended)
