from __future__ import annotations

import pytest
from polling import until

from atoll import Client, ConflictError, Pool, Sandbox


def test_create_list_and_delete_a_pool(client: Client) -> None:
    pool = Pool.create(id="warm", warm_count=1, vcpu_count=1, mem_size_mib=224, client=client)
    assert (pool.id, pool.warm_count, pool.max_count, pool.mem_size_mib) == ("warm", 1, None, 224)
    with pytest.raises(ConflictError, match="pool id already taken: warm"):
        Pool.create(id="warm", warm_count=0, client=client)

    def is_ready() -> bool:
        return [each.warm_ready for each in Pool.list(client=client)] == [1]

    until(is_ready)
    with Sandbox.create(vcpu_count=1, mem_size_mib=224, client=client) as sandbox:
        assert (sandbox.exec("true")).exit_code == 0
        assert [each.claimed for each in Pool.list(client=client)] == [1]
        pool.delete()
        assert Pool.list(client=client) == []
        assert (sandbox.exec("true")).exit_code == 0
