from __future__ import annotations

from atoll import AsyncSandbox


async def test_spawn_gives_output_while_it_runs(sandbox: AsyncSandbox) -> None:
    process = await sandbox.spawn("sh", ["-c", "echo first; read line; echo second $line; exit 5"])
    seen = b""
    async for piece in process.output():
        if seen == b"" and piece.startswith(b"first"):
            # It waits for this line, so the piece came while it ran.
            await process.write_stdin("go\n")
        seen += piece
    assert seen == b"first\nsecond go\n"
    assert (process.exit_code, process.dropped_bytes) == (5, 0)


async def test_spawn_waits_for_the_exit_code(sandbox: AsyncSandbox) -> None:
    process = await sandbox.spawn(
        "sh", ["-c", "echo $A; pwd; id -un; exit 7"], env={"A": "b"}, cwd="/tmp", user="nobody"
    )
    assert await process.wait() == 7
    assert await process.text() == "b\n/tmp\nnobody\n"


async def test_spawn_can_be_killed(sandbox: AsyncSandbox) -> None:
    process = await sandbox.spawn("sleep", ["600"])
    await process.kill("KILL")
    assert await process.wait() == 137


async def test_spawn_is_fed_stdin(sandbox: AsyncSandbox) -> None:
    process = await sandbox.spawn("wc", ["-c"])
    await process.write_stdin("grüße")
    await process.write_stdin(b"\x00\x01")
    await process.close_stdin()
    assert await process.text() == "9\n"


async def test_a_process_can_be_attached_to_again(sandbox: AsyncSandbox) -> None:
    started = await sandbox.spawn("sh", ["-c", "head -c 1100000 /dev/zero; echo end"])
    assert await started.wait() == 0
    again = sandbox.process(started.id)
    text = await again.text()
    assert text.endswith("end\n")
    assert (again.exit_code, len(text) + again.dropped_bytes) == (0, 1_100_004)
    assert again.dropped_bytes > 0
    assert (await again.info()).command == "sh"


async def test_processes_lists_them(sandbox: AsyncSandbox) -> None:
    ended = await sandbox.spawn("sh", ["-c", "exit 4"])
    await ended.wait()
    running = await sandbox.spawn("sleep", ["601"])
    listed = {process.id: process for process in await sandbox.processes()}
    assert (listed[ended.id].exit_code, listed[running.id].exit_code) == (4, None)
    info = await listed[running.id].info()
    assert (info.command, info.args, info.exit_code) == ("sleep", ["601"], None)
    await running.kill()
    assert await running.wait() == 143
