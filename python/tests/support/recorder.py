"""Which routes of the OpenAPI document were reached: what was sent, and answered as a success."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import httpx
from websockets.client import ClientProtocol
from websockets.http11 import Request, Response

_FAILURE = 400

SYNC, ASYNC = "sync", "async"


class Recorder:
    """Remembers requests, by world, method and path."""

    def __init__(self) -> None:
        self.seen: dict[str, set[tuple[str, str]]] = {SYNC: set(), ASYNC: set()}

    def unreached(self, world: str, document: dict[str, Any]) -> list[str]:
        """Lists the routes of a document that no request has reached."""
        routes = [(method.upper(), path) for path, operations in document["paths"].items() for method in operations]
        reached = {_route_of(routes, *request) for request in self.seen[world]}
        return [f"{method} {path}" for method, path in routes if (method, path) not in reached]


def _route_of(routes: list[tuple[str, str]], method: str, path: str) -> tuple[str, str] | None:
    """Gives the route with the most literal segments, as the daemon's router does."""
    matching = [route for route in routes if route[0] == method and _pattern(route[1]).fullmatch(path)]
    return min(matching, key=lambda route: route[1].count("{"), default=None)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{[^/]*\}", "[^/]+", path.replace("{*}", ".*")))


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Listens to the libraries that send."""
    sync_send, async_send = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request
    send_request, process_response = ClientProtocol.send_request, ClientProtocol.process_response

    def record(world: str, method: str, path: str, status: int) -> None:
        if status < _FAILURE:
            recorder.seen[world].add((method, path))

    def handle_request(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        response = sync_send(self, request)
        record(SYNC, request.method, request.url.path, response.status_code)
        return response

    async def handle_async_request(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        response = await async_send(self, request)
        record(ASYNC, request.method, request.url.path, response.status_code)
        return response

    paths: dict[int, str] = {}

    def send(self: ClientProtocol, request: Request) -> None:
        paths[id(self)] = urlsplit(request.path).path
        send_request(self, request)

    def process(self: ClientProtocol, response: Response) -> None:
        process_response(self, response)
        for world in (SYNC, ASYNC):
            record(world, "GET", paths[id(self)], response.status_code)

    with (
        mock.patch.object(httpx.HTTPTransport, "handle_request", handle_request),
        mock.patch.object(httpx.AsyncHTTPTransport, "handle_async_request", handle_async_request),
        mock.patch.object(ClientProtocol, "send_request", send),
        mock.patch.object(ClientProtocol, "process_response", process),
    ):
        yield
