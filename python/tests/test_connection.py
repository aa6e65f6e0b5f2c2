from __future__ import annotations

import socket

import pytest
from aborting import abort
from relay import Relay

from atoll import AtollError, Client, ConnectionError, Drive, NotConnectedError, Sandbox, TimeoutError


def silent_server() -> socket.socket:
    """Takes connections and never answers."""
    return socket.create_server(("127.0.0.1", 0))


def url_of(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_nothing_listening_names_the_url(sandbox: Sandbox) -> None:
    with silent_server() as server:
        url = url_of(server)
    with pytest.raises(ConnectionError, match=url):
        Sandbox.list(url=url)
    with Client(url) as client:
        with pytest.raises(NotConnectedError, match=url):
            Sandbox(client, sandbox.id).pty()
    with pytest.raises(AtollError, match="no address"):
        Client("localhost:7777")


def test_a_timeout_ends_a_call(sandbox: Sandbox) -> None:
    with pytest.raises(TimeoutError, match="in time"):
        sandbox.exec("sleep", ["600"], timeout=0.5)
    with silent_server() as server, pytest.raises(TimeoutError, match=url_of(server)):
        Sandbox.create(url=url_of(server), timeout=0.2)
    with silent_server() as server:
        client = Client(url_of(server)).with_timeout(0.2)
        with pytest.raises(TimeoutError, match="in time"):
            Sandbox(client, "any").pty()
        client.close()
    patient = sandbox.with_timeout(60)
    assert (patient.info()).id == sandbox.id


def test_an_abort_ends_a_call(sandbox: Sandbox) -> None:
    process = sandbox.spawn("sleep", ["600"])
    begun = []

    def follow() -> None:
        begun.append(True)
        process.wait()

    abort(follow, lambda: bool(begun))
    assert (process.info()).exit_code is None
    process.kill()


def test_the_environment_gives_url_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Sandbox.list()
    with silent_server() as server:
        url = url_of(server)
    monkeypatch.setenv("ATOLL_URL", f"{url}/")
    monkeypatch.setenv("ATOLL_TOKEN", "from the environment")
    with Client() as client:
        assert (client.url, client.settings.token) == (url, "from the environment")
    monkeypatch.delenv("ATOLL_URL")
    with Client(token="given") as client:
        assert (client.url, client.settings.token) == ("http://127.0.0.1:7777", "given")


def test_a_harmless_call_is_tried_again(client: Client) -> None:
    with Relay(client.url, cuts=2) as relay:
        assert Sandbox.list(url=relay.url)
        assert relay.requests == [b"GET /sandboxes HTTP/1.1"] * 3


def test_a_create_is_never_sent_twice(client: Client) -> None:
    with Relay(client.url, cuts=1) as relay:
        with pytest.raises(ConnectionError, match=relay.url):
            Drive.create(8, url=relay.url)
        assert relay.requests == [b"POST /drives HTTP/1.1"]


def test_health_and_metrics_answer_without_a_token(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATOLL_TOKEN", raising=False)
    with Client(client.url) as stranger:
        assert stranger.settings.token is None
        assert stranger.health() == "ok"
        assert "create_phase_duration_ms" in stranger.metrics()
    assert "/sandboxes/{id}/exec" in (client.openapi())["paths"]


def test_the_daemon_gone_mid_stream_is_one_clear_error(sandbox: Sandbox) -> None:
    process = sandbox.spawn("sh", ["-c", "echo begun; sleep 600"])
    sandbox.files.write("/root/large", "")
    sandbox.files.truncate("/root/large", 1024**3)
    with Relay(sandbox.client.url) as relay:
        with Client(relay.url) as client:
            far = Sandbox(client, sandbox.id)
            with pytest.raises(ConnectionError, match=relay.url):
                for _ in far.process(process.id).output():
                    relay.cut()
    with Relay(sandbox.client.url) as relay:
        with Client(relay.url) as client:
            stream = Sandbox(client, sandbox.id).files.read_stream("/root/large")
            with pytest.raises(ConnectionError, match=relay.url):
                for _ in stream:
                    relay.cut()
    process.kill()
