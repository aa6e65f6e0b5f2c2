from __future__ import annotations

import os

import pytest

from atoll import AsyncClient, AsyncSandbox, ConflictError, InvalidRequestError, UnauthorizedError


async def test_a_refused_field_is_an_invalid_request(client: AsyncClient) -> None:
    with pytest.raises(InvalidRequestError, match="vcpu_count") as caught:
        await AsyncSandbox.create(vcpu_count=0, client=client)
    assert (caught.value.status, caught.value.code, caught.value.retryable) == (400, "INVALID_REQUEST", False)


async def test_a_taken_name_is_a_conflict(client: AsyncClient, named_id: str) -> None:
    with pytest.raises(ConflictError, match="name already taken: ada") as caught:
        await AsyncSandbox.create(name="ada", client=client)
    assert caught.value.code == "NAME_TAKEN"
    assert named_id in caught.value.message


async def test_a_wrong_token_is_unauthorized(sandbox: AsyncSandbox) -> None:
    async with AsyncClient(token="wrong") as stranger:
        theirs = AsyncSandbox(stranger, sandbox.id)
        assert "wrong" not in repr(stranger.settings)
        if "ATOLL_TOKEN" not in os.environ:
            # A daemon that asks for no token takes any.
            assert (await theirs.exec("true")).exit_code == 0
            return
        for call in (theirs.info, theirs.pty, theirs.process("1").wait):
            with pytest.raises(UnauthorizedError, match="Authorization") as caught:
                await call()
            assert (caught.value.status, caught.value.code) == (401, "UNAUTHORIZED")


async def test_errors_carry_the_request_id(client: AsyncClient, sandbox: AsyncSandbox) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await sandbox.files.read("/none")
    assert caught.value.request_id
    assert caught.value.request_id != (await client.send("GET", "/none")).headers["x-request-id"]
