from __future__ import annotations

import httpx
import pytest
from recorder import ASYNC, SYNC, Recorder

from atoll import Client, ConflictError, Sandbox, UnexpectedAnswerError
from atoll._log_remarks import Dropped, Exited, parse_remark
from atoll._preview import preview_target, preview_url
from atoll._request import delete, get, path_of, post
from atoll._settings import settings
from atoll._tunnel_bridge import DATA, frame, parse_frame
from atoll.errors import ApiError, NotConnectedError, UnavailableError, api_error


def test_a_path_holds_whatever_is_in_it() -> None:
    assert path_of("sandboxes", "a/b?c", "preview", 80) == "/sandboxes/a%2Fb%3Fc/preview/80"
    assert get("/files", path="/a b&c").target == "/files?path=%2Fa%20b%26c"
    assert delete("/x", keep=False, signal=None).target == "/x?keep=false"
    assert post("/x", {"a": None, "b": False}).json == {"b": False}


def test_only_what_is_harmless_is_sent_again() -> None:
    unreached, broken = NotConnectedError("no"), UnavailableError("full", status=503, code="INSUFFICIENT_MEMORY")
    assert [request.may_repeat(unreached) for request in (get("/"), delete("/"), post("/"))] == [True, True, False]
    assert [request.may_repeat(broken) for request in (get("/"), delete("/"), post("/"))] == [True, False, False]


def test_the_remarks_of_a_log() -> None:
    assert parse_remark("[process exited with code -1]") == Exited(-1)
    assert parse_remark("[... 12 earlier bytes truncated ...]") == Dropped(12)
    assert parse_remark("[reader fell behind: 7 bytes skipped]") == Dropped(7)
    assert parse_remark("[something newer]") is None


def test_a_tunnels_message_is_read_as_it_is_written() -> None:
    assert parse_frame(frame(DATA, "12", b"payload")) == (DATA, "12", b"payload")
    with pytest.raises(UnexpectedAnswerError):
        parse_frame(b"\x01\x05ab")


def test_an_answer_that_is_not_the_daemons_is_still_an_error() -> None:
    error = api_error(502, b"<html>bad gateway</html>", None)
    assert (error.status, error.code, error.retryable) == (502, None, False)
    assert "bad gateway" in str(error)
    assert type(api_error(418, b"", None)) is ApiError
    assert type(api_error(409, b'{"error": "taken", "code": "NAME_TAKEN"}', "1")) is ConflictError


def test_a_token_is_in_a_link_only_when_that_is_asked_for() -> None:
    where = settings("http://host:1/", "a&b")
    target = preview_target("box", 80, "page?x=1#part")
    assert preview_url(where, target, with_token=False) == "http://host:1/sandboxes/box/preview/80/page?x=1#part"
    assert preview_url(where, target, with_token=True).endswith("page?x=1&token=a%26b#part")
    assert preview_target("box", 80, "") == "/sandboxes/box/preview/80"
    assert "a&b" not in repr(where)


def test_a_page_that_is_not_the_daemons_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_self: object, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>", request=request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    with pytest.raises(UnexpectedAnswerError, match="http://host:1 does not answer as atolld does"):
        Sandbox.list(client=Client("http://host:1"))


def test_a_route_that_no_request_reached_is_listed() -> None:
    recorder = Recorder()
    recorder.seen[SYNC] = {("GET", "/boxes/1"), ("GET", "/boxes/1/files/a/b"), ("POST", "/boxes/history")}
    document: dict[str, dict[str, dict[str, object]]] = {
        "paths": {
            "/boxes/{id}": {"get": {}, "delete": {}},
            "/boxes/{id}/files/{*}": {"get": {}},
            "/boxes/history": {"get": {}, "post": {}},
        }
    }
    assert recorder.unreached(SYNC, document) == ["DELETE /boxes/{id}", "GET /boxes/history"]
    assert len(recorder.unreached(ASYNC, document)) == 5
