from __future__ import annotations

import os

import pytest

from atoll import AsyncClient, AsyncImage, AsyncSandbox, ConflictError


async def test_register_boot_list_and_delete_an_image(client: AsyncClient) -> None:
    image = await AsyncImage.register("tiny", os.environ["ATOLL_TEST_IMAGE"], client=client)
    assert (image.id, image.in_use_by, image.guest_agent_verified) == ("tiny", None, False)
    async with await AsyncSandbox.create(image_id="tiny", client=client) as sandbox:
        assert (await sandbox.exec("sh", ["-c", ". /etc/os-release; echo $ID"])).stdout == "alpine-like\n"
        assert [each.in_use_by for each in await AsyncImage.list(client=client)] == [[f"sandbox {sandbox.id}"]]
        with pytest.raises(ConflictError):
            await image.delete()
    await image.delete()
    assert await AsyncImage.list(client=client) == []
