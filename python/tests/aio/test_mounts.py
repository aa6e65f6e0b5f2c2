from __future__ import annotations

import json
import os

import pytest

from atoll import AsyncClient, AsyncSandbox, NotFoundError


async def test_mount_list_and_unmount_a_bucket(client: AsyncClient) -> None:
    store = json.loads(os.environ["ATOLL_TEST_STORE"])
    async with await AsyncSandbox.create(mem_size_mib=512, client=client) as sandbox:
        made = await sandbox.mounts.create(**store, mount_path="/srv/bucket")
        assert (made.bucket, made.endpoint, made.read_only) == (store["bucket"], store["endpoint"], False)
        assert await sandbox.mounts.list() == [made]
        await sandbox.files.write("/srv/bucket/note", "from the sandbox")
        await sandbox.mounts.delete(made.id)
        assert await sandbox.mounts.list() == []
        assert await sandbox.files.list("/srv/bucket") == []
        read_only = await sandbox.mounts.create(**store, mount_path="/srv/again", read_only=True)
        assert await sandbox.files.read_text("/srv/again/note") == "from the sandbox"
        assert (await sandbox.exec("touch", ["/srv/again/new"])).exit_code == 1
        await sandbox.mounts.delete(read_only.id)
        with pytest.raises(NotFoundError):
            await sandbox.mounts.delete(read_only.id)
