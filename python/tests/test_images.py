from __future__ import annotations

import os

import pytest

from atoll import Client, ConflictError, Image, Sandbox


def test_register_boot_list_and_delete_an_image(client: Client) -> None:
    image = Image.register("tiny", os.environ["ATOLL_TEST_IMAGE"], client=client)
    assert (image.id, image.in_use_by, image.guest_agent_verified) == ("tiny", None, False)
    with Sandbox.create(image_id="tiny", client=client) as sandbox:
        assert (sandbox.exec("sh", ["-c", ". /etc/os-release; echo $ID"])).stdout == "alpine-like\n"
        assert [each.in_use_by for each in Image.list(client=client)] == [[f"sandbox {sandbox.id}"]]
        with pytest.raises(ConflictError):
            image.delete()
    image.delete()
    assert Image.list(client=client) == []
