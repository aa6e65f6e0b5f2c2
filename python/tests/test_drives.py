from __future__ import annotations

import pytest

from atoll import Client, ConflictError, Drive, NotFoundError, Sandbox


def test_create_attach_list_and_delete_a_drive(client: Client) -> None:
    drive = Drive.create(64, client=client)
    assert (drive.size_mib, drive.attached_to) == (64, [])
    with Sandbox.create(drives=[{"id": drive.id}], client=client) as sandbox:
        sandbox.files.write(f"/mnt/drives/{drive.id}/note", "kept")
        (listed,) = [each for each in Drive.list(client=client) if each.id == drive.id]
        assert [(each.holder, each.read_only) for each in listed.attached_to] == [(f"sandbox {sandbox.id}", False)]
        with pytest.raises(ConflictError) as caught:
            drive.delete()
        assert caught.value.code == "DRIVE_IN_USE"
    drive.delete()
    assert drive.id not in [each.id for each in Drive.list(client=client)]
    with pytest.raises(NotFoundError):
        drive.delete()
