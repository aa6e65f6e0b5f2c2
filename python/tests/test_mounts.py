from __future__ import annotations

import json
import os

import pytest

from atoll import Client, NotFoundError, Sandbox


def test_mount_list_and_unmount_a_bucket(client: Client) -> None:
    store = json.loads(os.environ["ATOLL_TEST_STORE"])
    with Sandbox.create(mem_size_mib=512, client=client) as sandbox:
        made = sandbox.mounts.create(**store, mount_path="/srv/bucket")
        assert (made.bucket, made.endpoint, made.read_only) == (store["bucket"], store["endpoint"], False)
        assert sandbox.mounts.list() == [made]
        sandbox.files.write("/srv/bucket/note", "from the sandbox")
        sandbox.mounts.delete(made.id)
        assert sandbox.mounts.list() == []
        assert sandbox.files.list("/srv/bucket") == []
        read_only = sandbox.mounts.create(**store, mount_path="/srv/again", read_only=True)
        assert sandbox.files.read_text("/srv/again/note") == "from the sandbox"
        assert (sandbox.exec("touch", ["/srv/again/new"])).exit_code == 1
        sandbox.mounts.delete(read_only.id)
        with pytest.raises(NotFoundError):
            sandbox.mounts.delete(read_only.id)
