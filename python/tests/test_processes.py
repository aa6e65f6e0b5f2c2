from __future__ import annotations

from atoll import Sandbox


def test_spawn_gives_output_while_it_runs(sandbox: Sandbox) -> None:
    process = sandbox.spawn("sh", ["-c", "echo first; read line; echo second $line; exit 5"])
    seen = b""
    for piece in process.output():
        if seen == b"" and piece.startswith(b"first"):
            # It waits for this line, so the piece came while it ran.
            process.write_stdin("go\n")
        seen += piece
    assert seen == b"first\nsecond go\n"
    assert (process.exit_code, process.dropped_bytes) == (5, 0)


def test_spawn_waits_for_the_exit_code(sandbox: Sandbox) -> None:
    process = sandbox.spawn("sh", ["-c", "echo $A; pwd; id -un; exit 7"], env={"A": "b"}, cwd="/tmp", user="nobody")
    assert process.wait() == 7
    assert process.text() == "b\n/tmp\nnobody\n"


def test_spawn_can_be_killed(sandbox: Sandbox) -> None:
    process = sandbox.spawn("sleep", ["600"])
    process.kill("KILL")
    assert process.wait() == 137


def test_spawn_is_fed_stdin(sandbox: Sandbox) -> None:
    process = sandbox.spawn("wc", ["-c"])
    process.write_stdin("grüße")
    process.write_stdin(b"\x00\x01")
    process.close_stdin()
    assert process.text() == "9\n"


def test_a_process_can_be_attached_to_again(sandbox: Sandbox) -> None:
    started = sandbox.spawn("sh", ["-c", "head -c 1100000 /dev/zero; echo end"])
    assert started.wait() == 0
    again = sandbox.process(started.id)
    text = again.text()
    assert text.endswith("end\n")
    assert (again.exit_code, len(text) + again.dropped_bytes) == (0, 1_100_004)
    assert again.dropped_bytes > 0
    assert (again.info()).command == "sh"


def test_processes_lists_them(sandbox: Sandbox) -> None:
    ended = sandbox.spawn("sh", ["-c", "exit 4"])
    ended.wait()
    running = sandbox.spawn("sleep", ["601"])
    listed = {process.id: process for process in sandbox.processes()}
    assert (listed[ended.id].exit_code, listed[running.id].exit_code) == (4, None)
    info = listed[running.id].info()
    assert (info.command, info.args, info.exit_code) == ("sleep", ["601"], None)
    running.kill()
    assert running.wait() == 143
