from __future__ import annotations

import pytest

from atoll import (
    ApiError,
    AsyncCheckpoint,
    AsyncClient,
    AsyncSandbox,
    AsyncSnapshot,
    ConflictError,
    NotFoundError,
)


async def make(client: AsyncClient, name: str | None = None) -> AsyncSandbox:
    return await AsyncSandbox.create(name=name, vcpu_count=1, mem_size_mib=256, client=client)


async def test_snapshot_list_and_get(client: AsyncClient, snapshot_id: str) -> None:
    snapshot = await AsyncSnapshot.get(snapshot_id, client=client)
    assert (snapshot.tags, snapshot.mem_size_mib, snapshot.parent_snapshot_id) == ({"from": "tests"}, 256, None)
    assert await AsyncSnapshot.list(source_sandbox_id=snapshot.source_sandbox_id, client=client) == [snapshot]
    assert snapshot_id in [each.id for each in await AsyncSnapshot.list(client=client)]
    assert await AsyncSnapshot.list(parent_snapshot_id=snapshot_id, client=client) == []
    gone = await (await make(client)).snapshot()
    await gone.delete()
    with pytest.raises(NotFoundError, match=gone.id):
        await AsyncSnapshot.get(gone.id, client=client)


async def test_resume_goes_on_where_it_stopped(client: AsyncClient) -> None:
    sandbox = await make(client)
    process = await sandbox.spawn("sh", ["-c", "while [ ! -e /root/go ]; do sleep 0.1; done; echo $$ >/root/went"])
    snapshot = await sandbox.snapshot()
    async with await snapshot.resume(retain_history=False) as again:
        assert process.id not in [each.id for each in await again.processes()]
        await again.files.write("/root/go", "")
        script = "until [ -s /root/went ]; do sleep 0.1; done"
        assert (await again.exec("sh", ["-c", script], timeout_ms=60_000)).exit_code == 0
    with pytest.raises(NotFoundError):
        await snapshot.resume()
    assert await AsyncCheckpoint.list(source_sandbox_id=sandbox.id, client=client) == []


async def test_fork_keeps_the_snapshot(client: AsyncClient, snapshot_id: str) -> None:
    snapshot = await AsyncSnapshot.get(snapshot_id, client=client)
    async with await snapshot.fork() as fork:
        assert await fork.files.read_text("/root/kept") == "as it was"
        assert (await AsyncSnapshot.get(snapshot_id, client=client)).forked_into == fork.id
        with pytest.raises(ConflictError) as caught:
            await AsyncSandbox.fork(snapshot_id, client=client)
        assert caught.value.retryable
    assert (await AsyncSnapshot.get(snapshot_id, client=client)).forked_into is None


async def test_clone_makes_many_with_identities_of_their_own(client: AsyncClient, snapshot_id: str) -> None:
    snapshot = await AsyncSnapshot.get(snapshot_id, client=client)
    clones = await snapshot.clone(2, name_prefix="twin", tags={"twin": "yes"})
    hosts = set()
    for clone in clones:
        assert not isinstance(clone, ApiError)
        async with clone:
            assert await clone.files.read_text("/root/kept") == "as it was"
            hosts.add((await clone.exec("hostname", ["-I"])).stdout)
            assert (await clone.info()).tags == {"twin": "yes"}
            if len(hosts) == 1:
                # A name that is held is the error of its clone alone.
                again = await AsyncSandbox.clone(snapshot_id, 1, name_prefix="twin", client=client)
                assert [type(each) for each in again] == [ConflictError]
    assert len(hosts) == 2


async def test_checkpoints_restore_pin_and_delete(client: AsyncClient) -> None:
    sandbox = await make(client)
    await sandbox.files.write("/root/state", "first")
    snapshot = await sandbox.snapshot()
    async with await AsyncSandbox.resume(snapshot.id, client=client) as resumed:
        await resumed.files.write("/root/state", "second")
        (checkpoint,) = await AsyncCheckpoint.list(source_sandbox_id=sandbox.id, client=client)
        assert (checkpoint.id, checkpoint.pinned) == (snapshot.id, False)
        with pytest.raises(ConflictError):
            await checkpoint.restore()
    assert (await checkpoint.pin()).pinned
    assert not (await checkpoint.pin(False)).pinned
    async with await checkpoint.restore() as restored:
        assert await restored.files.read_text("/root/state") == "first"
    await checkpoint.delete()
    assert await AsyncCheckpoint.list(source_sandbox_id=sandbox.id, client=client) == []


async def test_prune_says_what_would_go(client: AsyncClient) -> None:
    pruned = await AsyncCheckpoint.prune(dry_run=True, client=client)
    assert (pruned.dry_run, pruned.checkpoints, pruned.bytes) == (True, [], 0)
    assert not (await AsyncCheckpoint.prune(client=client)).dry_run


async def test_a_fresh_identity_on_resume_fork_and_restore(client: AsyncClient, snapshot_id: str) -> None:
    first = await AsyncSandbox.fork(snapshot_id, client=client)
    await first.stop(keep=False)
    snapshot = await (await AsyncSandbox.fork(snapshot_id, fresh_identity=True, client=client)).stop()
    assert snapshot.kept is False
    sandbox = await make(client)
    held = await sandbox.snapshot()
    async with await held.resume(fresh_identity=True) as resumed:
        # Its old identity is free, and so the checkpoint can be restored beside it.
        async with await AsyncSandbox.restore(held.id, fresh_identity=True, client=client) as restored:
            addresses = {(await each.exec("hostname", ["-I"])).stdout for each in (resumed, restored)}
            assert len(addresses) == 2
    (checkpoint,) = await AsyncCheckpoint.list(source_sandbox_id=sandbox.id, client=client)
    await checkpoint.delete()
