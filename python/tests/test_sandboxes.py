from __future__ import annotations

import pytest

from atoll import Client, ConflictError, NotFoundError, Sandbox, Snapshot

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_create_runs_a_command_at_once(client: Client) -> None:
    with Sandbox.create(client=client) as sandbox:
        assert (sandbox.exec("echo", ["at once"])).stdout == "at once\n"


def test_create_takes_name_tags_size_and_env(client: Client) -> None:
    options = {"name": "sized", "tags": {"a": "1"}, "env": {"GREETING": "hi"}}
    with Sandbox.create(
        name="sized", tags={"a": "1"}, env={"GREETING": "hi"}, vcpu_count=1, mem_size_mib=192, client=client
    ) as sandbox:
        info = sandbox.info()
        assert (info.id, info.name, info.tags) == (sandbox.id, options["name"], options["tags"])
        assert (info.vcpu_count, info.mem_size_mib, info.egress, info.drives) == (1, 192, None, [])
        assert (sandbox.exec("sh", ["-c", "echo $GREETING; nproc"])).stdout == "hi\n1\n"


def test_get_finds_by_id_and_by_name(client: Client, named_id: str) -> None:
    assert (Sandbox.get(named_id, client=client)).id == named_id
    found = Sandbox.get("ada", client=client)
    assert found.id == named_id
    assert (found.exec("sh", ["-c", "echo $PLACE"])).stdout == "here\n"


def test_get_of_an_unknown_id_is_not_found(client: Client) -> None:
    with pytest.raises(NotFoundError, match=f"sandbox not found: {UNKNOWN}") as caught:
        Sandbox.get(UNKNOWN, client=client)
    assert (caught.value.status, caught.value.code, caught.value.retryable) == (404, "NOT_FOUND", False)


def test_get_or_create_makes_one_then_finds_it(client: Client) -> None:
    made = Sandbox.get_or_create(name="sleeper", vcpu_count=1, mem_size_mib=256, client=client)
    with made:
        assert made.created is True
        found = Sandbox.get_or_create(name="sleeper", client=client)
        assert (found.id, found.created) == (made.id, False)


def test_by_name_tells_the_id(client: Client, named_id: str) -> None:
    assert (Sandbox.by_name("ada", client=client)).id == named_id
    with pytest.raises(NotFoundError):
        Sandbox.by_name("nobody", client=client)


def test_list_filters_by_tags(client: Client, named_id: str, shared_id: str) -> None:
    every = {sandbox.id for sandbox in Sandbox.list(client=client)}
    assert {named_id, shared_id} <= every
    matching = Sandbox.list(tags={"team": "blue", "who": "ada"}, client=client)
    assert [(each.id, each.last_info and each.last_info.name) for each in matching] == [(named_id, "ada")]
    assert Sandbox.list(tags={"team": "blue", "who": "bob"}, client=client) == []


def test_stop_keeps_a_snapshot_by_default(client: Client) -> None:
    sandbox = Sandbox.create(name="kept", client=client)
    sandbox.files.write("/root/note", "still here")
    stopped = sandbox.stop()
    assert stopped.kept
    with pytest.raises(ConflictError, match="get-or-create"):
        Sandbox.by_name("kept", client=client)
    with Sandbox.get_or_create(name="kept", client=client) as again:
        assert again.created is False
        assert (again.info()).parent_snapshot_id == stopped.snapshot_id
        assert again.files.read_text("/root/note") == "still here"


def test_stop_without_keep_destroys(client: Client) -> None:
    sandbox = Sandbox.create(client=client)
    stopped = sandbox.stop(keep=False)
    assert (stopped.kept, stopped.snapshot_id) == (False, None)
    with pytest.raises(NotFoundError):
        sandbox.info()
    assert Snapshot.list(source_sandbox_id=sandbox.id, client=client) == []


def test_a_using_block_destroys_it_at_its_end(client: Client) -> None:
    with pytest.raises(ValueError, match="inside"):
        with Sandbox.create(client=client) as sandbox:
            raise ValueError("inside")
    with pytest.raises(NotFoundError):
        Sandbox.get(sandbox.id, client=client)
    assert Snapshot.list(source_sandbox_id=sandbox.id, client=client) == []
