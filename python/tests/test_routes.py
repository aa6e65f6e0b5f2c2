from __future__ import annotations

import inspect

from recorder import ASYNC, SYNC, Recorder

from atoll import Client


def test_every_route_of_the_openapi_document_is_reached(client: Client, recorder: Recorder) -> None:
    world = ASYNC if inspect.iscoroutinefunction(Client.health) else SYNC
    assert recorder.unreached(world, client.openapi()) == []
