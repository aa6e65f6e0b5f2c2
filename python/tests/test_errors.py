from __future__ import annotations

import os

import pytest

from atoll import Client, ConflictError, InvalidRequestError, Sandbox, UnauthorizedError


def test_a_refused_field_is_an_invalid_request(client: Client) -> None:
    with pytest.raises(InvalidRequestError, match="vcpu_count") as caught:
        Sandbox.create(vcpu_count=0, client=client)
    assert (caught.value.status, caught.value.code, caught.value.retryable) == (400, "INVALID_REQUEST", False)


def test_a_taken_name_is_a_conflict(client: Client, named_id: str) -> None:
    with pytest.raises(ConflictError, match="name already taken: ada") as caught:
        Sandbox.create(name="ada", client=client)
    assert caught.value.code == "NAME_TAKEN"
    assert named_id in caught.value.message


def test_a_wrong_token_is_unauthorized(sandbox: Sandbox) -> None:
    with Client(token="wrong") as stranger:
        theirs = Sandbox(stranger, sandbox.id)
        assert "wrong" not in repr(stranger.settings)
        if "ATOLL_TOKEN" not in os.environ:
            # A daemon that asks for no token takes any.
            assert (theirs.exec("true")).exit_code == 0
            return
        for call in (theirs.info, theirs.pty, theirs.process("1").wait):
            with pytest.raises(UnauthorizedError, match="Authorization") as caught:
                call()
            assert (caught.value.status, caught.value.code) == (401, "UNAUTHORIZED")


def test_errors_carry_the_request_id(client: Client, sandbox: Sandbox) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        sandbox.files.read("/none")
    assert caught.value.request_id
    assert caught.value.request_id != (client.send("GET", "/none")).headers["x-request-id"]
