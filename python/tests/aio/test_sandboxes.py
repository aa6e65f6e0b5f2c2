from __future__ import annotations

import pytest

from atoll import AsyncClient, AsyncSandbox, AsyncSnapshot, ConflictError, NotFoundError

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def test_create_runs_a_command_at_once(client: AsyncClient) -> None:
    async with await AsyncSandbox.create(client=client) as sandbox:
        assert (await sandbox.exec("echo", ["at once"])).stdout == "at once\n"


async def test_create_takes_name_tags_size_and_env(client: AsyncClient) -> None:
    options = {"name": "sized", "tags": {"a": "1"}, "env": {"GREETING": "hi"}}
    async with await AsyncSandbox.create(
        name="sized", tags={"a": "1"}, env={"GREETING": "hi"}, vcpu_count=1, mem_size_mib=192, client=client
    ) as sandbox:
        info = await sandbox.info()
        assert (info.id, info.name, info.tags) == (sandbox.id, options["name"], options["tags"])
        assert (info.vcpu_count, info.mem_size_mib, info.egress, info.drives) == (1, 192, None, [])
        assert (await sandbox.exec("sh", ["-c", "echo $GREETING; nproc"])).stdout == "hi\n1\n"


async def test_get_finds_by_id_and_by_name(client: AsyncClient, named_id: str) -> None:
    assert (await AsyncSandbox.get(named_id, client=client)).id == named_id
    found = await AsyncSandbox.get("ada", client=client)
    assert found.id == named_id
    assert (await found.exec("sh", ["-c", "echo $PLACE"])).stdout == "here\n"


async def test_get_of_an_unknown_id_is_not_found(client: AsyncClient) -> None:
    with pytest.raises(NotFoundError, match=f"sandbox not found: {UNKNOWN}") as caught:
        await AsyncSandbox.get(UNKNOWN, client=client)
    assert (caught.value.status, caught.value.code, caught.value.retryable) == (404, "NOT_FOUND", False)


async def test_get_or_create_makes_one_then_finds_it(client: AsyncClient) -> None:
    made = await AsyncSandbox.get_or_create(name="sleeper", vcpu_count=1, mem_size_mib=256, client=client)
    async with made:
        assert made.created is True
        found = await AsyncSandbox.get_or_create(name="sleeper", client=client)
        assert (found.id, found.created) == (made.id, False)


async def test_by_name_tells_the_id(client: AsyncClient, named_id: str) -> None:
    assert (await AsyncSandbox.by_name("ada", client=client)).id == named_id
    with pytest.raises(NotFoundError):
        await AsyncSandbox.by_name("nobody", client=client)


async def test_list_filters_by_tags(client: AsyncClient, named_id: str, shared_id: str) -> None:
    every = {sandbox.id for sandbox in await AsyncSandbox.list(client=client)}
    assert {named_id, shared_id} <= every
    matching = await AsyncSandbox.list(tags={"team": "blue", "who": "ada"}, client=client)
    assert [(each.id, each.last_info and each.last_info.name) for each in matching] == [(named_id, "ada")]
    assert await AsyncSandbox.list(tags={"team": "blue", "who": "bob"}, client=client) == []


async def test_stop_keeps_a_snapshot_by_default(client: AsyncClient) -> None:
    sandbox = await AsyncSandbox.create(name="kept", client=client)
    await sandbox.files.write("/root/note", "still here")
    stopped = await sandbox.stop()
    assert stopped.kept
    with pytest.raises(ConflictError, match="get-or-create"):
        await AsyncSandbox.by_name("kept", client=client)
    async with await AsyncSandbox.get_or_create(name="kept", client=client) as again:
        assert again.created is False
        assert (await again.info()).parent_snapshot_id == stopped.snapshot_id
        assert await again.files.read_text("/root/note") == "still here"


async def test_stop_without_keep_destroys(client: AsyncClient) -> None:
    sandbox = await AsyncSandbox.create(client=client)
    stopped = await sandbox.stop(keep=False)
    assert (stopped.kept, stopped.snapshot_id) == (False, None)
    with pytest.raises(NotFoundError):
        await sandbox.info()
    assert await AsyncSnapshot.list(source_sandbox_id=sandbox.id, client=client) == []


async def test_a_using_block_destroys_it_at_its_end(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match="inside"):
        async with await AsyncSandbox.create(client=client) as sandbox:
            raise ValueError("inside")
    with pytest.raises(NotFoundError):
        await AsyncSandbox.get(sandbox.id, client=client)
    assert await AsyncSnapshot.list(source_sandbox_id=sandbox.id, client=client) == []
