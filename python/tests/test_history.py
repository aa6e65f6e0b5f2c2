from __future__ import annotations

from atoll import Client, Sandbox


def test_history_lists_ended_and_live_ones(client: Client, shared_id: str) -> None:
    with Sandbox.create(tags={"short": "lived"}, client=client) as sandbox:
        (live,) = [each for each in client.history(live_only=True) if each.id == sandbox.id]
        assert (live.tags, live.ended_at_unix, live.end_reason) == ({"short": "lived"}, None, None)
    (newest,) = client.history(limit=1)
    assert (newest.id, newest.end_reason, newest.final_snapshot_id) == (sandbox.id, "destroyed", None)
    live_ids = [each.id for each in client.history(live_only=True)]
    assert shared_id in live_ids
    assert sandbox.id not in live_ids
