from __future__ import annotations

import socket

import pytest
from aborting import async_abort
from relay import Relay

from atoll import AsyncClient, AsyncDrive, AsyncSandbox, AtollError, ConnectionError, NotConnectedError, TimeoutError


def silent_server() -> socket.socket:
    """Takes connections and never answers."""
    return socket.create_server(("127.0.0.1", 0))


def url_of(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}"


async def test_nothing_listening_names_the_url(sandbox: AsyncSandbox) -> None:
    with silent_server() as server:
        url = url_of(server)
    with pytest.raises(ConnectionError, match=url):
        await AsyncSandbox.list(url=url)
    async with AsyncClient(url) as client:
        with pytest.raises(NotConnectedError, match=url):
            await AsyncSandbox(client, sandbox.id).pty()
    with pytest.raises(AtollError, match="no address"):
        AsyncClient("localhost:7777")


async def test_a_timeout_ends_a_call(sandbox: AsyncSandbox) -> None:
    with pytest.raises(TimeoutError, match="in time"):
        await sandbox.exec("sleep", ["600"], timeout=0.5)
    with silent_server() as server, pytest.raises(TimeoutError, match=url_of(server)):
        await AsyncSandbox.create(url=url_of(server), timeout=0.2)
    with silent_server() as server:
        client = AsyncClient(url_of(server)).with_timeout(0.2)
        with pytest.raises(TimeoutError, match="in time"):
            await AsyncSandbox(client, "any").pty()
        await client.close()
    patient = sandbox.with_timeout(60)
    assert (await patient.info()).id == sandbox.id


async def test_an_abort_ends_a_call(sandbox: AsyncSandbox) -> None:
    process = await sandbox.spawn("sleep", ["600"])
    begun = []

    async def follow() -> None:
        begun.append(True)
        await process.wait()

    await async_abort(follow, lambda: bool(begun))
    assert (await process.info()).exit_code is None
    await process.kill()


async def test_the_environment_gives_url_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await AsyncSandbox.list()
    with silent_server() as server:
        url = url_of(server)
    monkeypatch.setenv("ATOLL_URL", f"{url}/")
    monkeypatch.setenv("ATOLL_TOKEN", "from the environment")
    async with AsyncClient() as client:
        assert (client.url, client.settings.token) == (url, "from the environment")
    monkeypatch.delenv("ATOLL_URL")
    async with AsyncClient(token="given") as client:
        assert (client.url, client.settings.token) == ("http://127.0.0.1:7777", "given")


async def test_a_harmless_call_is_tried_again(client: AsyncClient) -> None:
    with Relay(client.url, cuts=2) as relay:
        assert await AsyncSandbox.list(url=relay.url)
        assert relay.requests == [b"GET /sandboxes HTTP/1.1"] * 3


async def test_a_create_is_never_sent_twice(client: AsyncClient) -> None:
    with Relay(client.url, cuts=1) as relay:
        with pytest.raises(ConnectionError, match=relay.url):
            await AsyncDrive.create(8, url=relay.url)
        assert relay.requests == [b"POST /drives HTTP/1.1"]


async def test_health_and_metrics_answer_without_a_token(client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATOLL_TOKEN", raising=False)
    async with AsyncClient(client.url) as stranger:
        assert stranger.settings.token is None
        assert await stranger.health() == "ok"
        assert "create_phase_duration_ms" in await stranger.metrics()
    assert "/sandboxes/{id}/exec" in (await client.openapi())["paths"]


async def test_the_daemon_gone_mid_stream_is_one_clear_error(sandbox: AsyncSandbox) -> None:
    process = await sandbox.spawn("sh", ["-c", "echo begun; sleep 600"])
    await sandbox.files.write("/root/large", "")
    await sandbox.files.truncate("/root/large", 1024**3)
    with Relay(sandbox.client.url) as relay:
        async with AsyncClient(relay.url) as client:
            far = AsyncSandbox(client, sandbox.id)
            with pytest.raises(ConnectionError, match=relay.url):
                async for _ in far.process(process.id).output():
                    relay.cut()
    with Relay(sandbox.client.url) as relay:
        async with AsyncClient(relay.url) as client:
            stream = AsyncSandbox(client, sandbox.id).files.read_stream("/root/large")
            with pytest.raises(ConnectionError, match=relay.url):
                async for _ in stream:
                    relay.cut()
    await process.kill()
