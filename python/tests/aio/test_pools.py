from __future__ import annotations

import pytest
from polling import async_until

from atoll import AsyncClient, AsyncPool, AsyncSandbox, ConflictError


async def test_create_list_and_delete_a_pool(client: AsyncClient) -> None:
    pool = await AsyncPool.create(id="warm", warm_count=1, vcpu_count=1, mem_size_mib=224, client=client)
    assert (pool.id, pool.warm_count, pool.max_count, pool.mem_size_mib) == ("warm", 1, None, 224)
    with pytest.raises(ConflictError, match="pool id already taken: warm"):
        await AsyncPool.create(id="warm", warm_count=0, client=client)

    async def is_ready() -> bool:
        return [each.warm_ready for each in await AsyncPool.list(client=client)] == [1]

    await async_until(is_ready)
    async with await AsyncSandbox.create(vcpu_count=1, mem_size_mib=224, client=client) as sandbox:
        assert (await sandbox.exec("true")).exit_code == 0
        assert [each.claimed for each in await AsyncPool.list(client=client)] == [1]
        await pool.delete()
        assert await AsyncPool.list(client=client) == []
        assert (await sandbox.exec("true")).exit_code == 0
