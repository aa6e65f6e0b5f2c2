from __future__ import annotations

import pytest

from atoll import (
    ApiError,
    Checkpoint,
    Client,
    ConflictError,
    NotFoundError,
    Sandbox,
    Snapshot,
)


def make(client: Client, name: str | None = None) -> Sandbox:
    return Sandbox.create(name=name, vcpu_count=1, mem_size_mib=256, client=client)


def test_snapshot_list_and_get(client: Client, snapshot_id: str) -> None:
    snapshot = Snapshot.get(snapshot_id, client=client)
    assert (snapshot.tags, snapshot.mem_size_mib, snapshot.parent_snapshot_id) == ({"from": "tests"}, 256, None)
    assert Snapshot.list(source_sandbox_id=snapshot.source_sandbox_id, client=client) == [snapshot]
    assert snapshot_id in [each.id for each in Snapshot.list(client=client)]
    assert Snapshot.list(parent_snapshot_id=snapshot_id, client=client) == []
    gone = (make(client)).snapshot()
    gone.delete()
    with pytest.raises(NotFoundError, match=gone.id):
        Snapshot.get(gone.id, client=client)


def test_resume_goes_on_where_it_stopped(client: Client) -> None:
    sandbox = make(client)
    process = sandbox.spawn("sh", ["-c", "while [ ! -e /root/go ]; do sleep 0.1; done; echo $$ >/root/went"])
    snapshot = sandbox.snapshot()
    with snapshot.resume(retain_history=False) as again:
        assert process.id not in [each.id for each in again.processes()]
        again.files.write("/root/go", "")
        script = "until [ -s /root/went ]; do sleep 0.1; done"
        assert (again.exec("sh", ["-c", script], timeout_ms=60_000)).exit_code == 0
    with pytest.raises(NotFoundError):
        snapshot.resume()
    assert Checkpoint.list(source_sandbox_id=sandbox.id, client=client) == []


def test_fork_keeps_the_snapshot(client: Client, snapshot_id: str) -> None:
    snapshot = Snapshot.get(snapshot_id, client=client)
    with snapshot.fork() as fork:
        assert fork.files.read_text("/root/kept") == "as it was"
        assert (Snapshot.get(snapshot_id, client=client)).forked_into == fork.id
        with pytest.raises(ConflictError) as caught:
            Sandbox.fork(snapshot_id, client=client)
        assert caught.value.retryable
    assert (Snapshot.get(snapshot_id, client=client)).forked_into is None


def test_clone_makes_many_with_identities_of_their_own(client: Client, snapshot_id: str) -> None:
    snapshot = Snapshot.get(snapshot_id, client=client)
    clones = snapshot.clone(2, name_prefix="twin", tags={"twin": "yes"})
    hosts = set()
    for clone in clones:
        assert not isinstance(clone, ApiError)
        with clone:
            assert clone.files.read_text("/root/kept") == "as it was"
            hosts.add((clone.exec("hostname", ["-I"])).stdout)
            assert (clone.info()).tags == {"twin": "yes"}
            if len(hosts) == 1:
                # A name that is held is the error of its clone alone.
                again = Sandbox.clone(snapshot_id, 1, name_prefix="twin", client=client)
                assert [type(each) for each in again] == [ConflictError]
    assert len(hosts) == 2


def test_checkpoints_restore_pin_and_delete(client: Client) -> None:
    sandbox = make(client)
    sandbox.files.write("/root/state", "first")
    snapshot = sandbox.snapshot()
    with Sandbox.resume(snapshot.id, client=client) as resumed:
        resumed.files.write("/root/state", "second")
        (checkpoint,) = Checkpoint.list(source_sandbox_id=sandbox.id, client=client)
        assert (checkpoint.id, checkpoint.pinned) == (snapshot.id, False)
        with pytest.raises(ConflictError):
            checkpoint.restore()
    assert (checkpoint.pin()).pinned
    assert not (checkpoint.pin(False)).pinned
    with checkpoint.restore() as restored:
        assert restored.files.read_text("/root/state") == "first"
    checkpoint.delete()
    assert Checkpoint.list(source_sandbox_id=sandbox.id, client=client) == []


def test_prune_says_what_would_go(client: Client) -> None:
    pruned = Checkpoint.prune(dry_run=True, client=client)
    assert (pruned.dry_run, pruned.checkpoints, pruned.bytes) == (True, [], 0)
    assert not (Checkpoint.prune(client=client)).dry_run


def test_a_fresh_identity_on_resume_fork_and_restore(client: Client, snapshot_id: str) -> None:
    first = Sandbox.fork(snapshot_id, client=client)
    first.stop(keep=False)
    snapshot = (Sandbox.fork(snapshot_id, fresh_identity=True, client=client)).stop()
    assert snapshot.kept is False
    sandbox = make(client)
    held = sandbox.snapshot()
    with held.resume(fresh_identity=True) as resumed:
        # Its old identity is free, and so the checkpoint can be restored beside it.
        with Sandbox.restore(held.id, fresh_identity=True, client=client) as restored:
            addresses = {(each.exec("hostname", ["-I"])).stdout for each in (resumed, restored)}
            assert len(addresses) == 2
    (checkpoint,) = Checkpoint.list(source_sandbox_id=sandbox.id, client=client)
    checkpoint.delete()
