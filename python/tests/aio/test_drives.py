from __future__ import annotations

import pytest

from atoll import AsyncClient, AsyncDrive, AsyncSandbox, ConflictError, NotFoundError


async def test_create_attach_list_and_delete_a_drive(client: AsyncClient) -> None:
    drive = await AsyncDrive.create(64, client=client)
    assert (drive.size_mib, drive.attached_to) == (64, [])
    async with await AsyncSandbox.create(drives=[{"id": drive.id}], client=client) as sandbox:
        await sandbox.files.write(f"/mnt/drives/{drive.id}/note", "kept")
        (listed,) = [each for each in await AsyncDrive.list(client=client) if each.id == drive.id]
        assert [(each.holder, each.read_only) for each in listed.attached_to] == [(f"sandbox {sandbox.id}", False)]
        with pytest.raises(ConflictError) as caught:
            await drive.delete()
        assert caught.value.code == "DRIVE_IN_USE"
    await drive.delete()
    assert drive.id not in [each.id for each in await AsyncDrive.list(client=client)]
    with pytest.raises(NotFoundError):
        await drive.delete()
