from __future__ import annotations

import inspect

from recorder import ASYNC, SYNC, Recorder

from atoll import AsyncClient


async def test_every_route_of_the_openapi_document_is_reached(client: AsyncClient, recorder: Recorder) -> None:
    world = ASYNC if inspect.iscoroutinefunction(AsyncClient.health) else SYNC
    assert recorder.unreached(world, await client.openapi()) == []
