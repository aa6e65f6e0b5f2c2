"""The connection to one daemon."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, TypedDict, TypeVar, cast

import httpx
from typing_extensions import Self

from .._http_errors import REQUEST_ID, handshake_errors, http_errors
from .._parse import parse
from .._request import MAX_TRIES, Request, get, retry_delay
from .._settings import Settings, settings
from .._version import __version__
from ..answers import HistoryList, HistoryRecord
from ..errors import ConnectionError, UnavailableError, UnexpectedAnswerError, api_error
from . import runtime

T = TypeVar("T")

DEFAULT_TIMEOUT = 300.0
_CONNECT_SECS = 10.0

# A call may take as long as its command does; these tell a slow one from a connection that is gone.
_KEEPALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]


class ConnectOptions(TypedDict, total=False):
    """Which daemon to ask. Without any: what ATOLL_URL and ATOLL_TOKEN say, else http://127.0.0.1:7777."""

    client: Client | None
    """A client to use; `url` and `token` then say nothing."""
    url: str | None
    """Where the daemon is."""
    token: str | None
    """The token it takes."""
    timeout: float | None
    """Seconds that an answer may take."""


class Client:
    """A connection to one daemon, for many calls. Its end closes what it holds open.

    Args:
        url: where the daemon is; ATOLL_URL, else http://127.0.0.1:7777, when absent.
        token: the token it takes; ATOLL_TOKEN, else none, when absent.
        timeout: seconds that an answer may take, and that a stream may be silent; None waits for ever. A command that
            is run to its end has no such limit.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float | None = DEFAULT_TIMEOUT
    ) -> None:
        self.settings = settings(url, token)
        self._timeout = timeout
        self._http = _http_client(self.settings, keeps=True)

    @classmethod
    def for_calls(cls, options: ConnectOptions) -> Client:
        """Gives the client that the options ask for. One made here holds nothing open, and so needs no closing."""
        client = options.get("client")
        if client is not None:
            return client.with_timeout(options["timeout"]) if "timeout" in options else client
        return cls._made(
            settings(options.get("url"), options.get("token")), options.get("timeout", DEFAULT_TIMEOUT), None
        )

    @classmethod
    def _made(cls, where: Settings, timeout: float | None, http: httpx.Client | None) -> Self:
        client = cls.__new__(cls)
        client.settings = where
        client._timeout = timeout
        client._http = _http_client(where, keeps=False) if http is None else http
        return client

    @property
    def url(self) -> str:
        """Where the daemon is."""
        return self.settings.url

    def with_timeout(self, timeout: float | None) -> Self:
        """Gives the same connection with another patience, in seconds."""
        return self._made(self.settings, timeout, self._http)

    def health(self) -> str:
        """Gives `ok` when the daemon is up. Needs no token."""
        return (self.call(get("/healthz"))).text

    def metrics(self) -> str:
        """Gives the daemon's metrics in Prometheus' text format. Needs no token."""
        return (self.call(get("/metrics"))).text

    def openapi(self) -> dict[str, Any]:
        """Gives the OpenAPI document of the daemon's routes."""
        document: dict[str, Any] = (self.call(get("/openapi.json"))).json()
        return document

    def history(self, *, live_only: bool | None = None, limit: int | None = None) -> list[HistoryRecord]:
        """Lists sandboxes, ended ones too, newest first.

        Args:
            live_only: only those that have not ended.
            limit: how many at most, 1 to 1000; 100 when absent.
        """
        answer = self.ask(HistoryList, get("/sandboxes/history", live_only=live_only, limit=limit))
        return answer.history

    def close(self) -> None:
        """Closes what it holds open."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, shape: type[T], request: Request, *, timeout: float | None = -1) -> T:
        """Sends a request and gives what its answer carries."""
        response = self.call(request, timeout=timeout)
        try:
            return parse(shape, response.json())
        except ValueError as error:
            raise UnexpectedAnswerError(f"{self.url} does not answer as atolld does: no JSON") from error

    def call(
        self, request: Request, *, content: Iterator[bytes] | None = None, timeout: float | None = -1
    ) -> httpx.Response:
        """Sends a request and gives its answer, which is a success. A negative timeout is the client's own."""
        with self.stream(request, content=content, timeout=timeout) as response:
            response.read()
            return response

    @contextmanager
    def stream(
        self, request: Request, *, content: Iterator[bytes] | None = None, timeout: float | None = -1
    ) -> Iterator[httpx.Response]:
        """Sends a request and gives its answer, which is a success and whose body is still to be read."""
        response = self._open(request, content, timeout)
        try:
            with http_errors(self.url):
                yield response
        finally:
            response.close()

    def _open(self, request: Request, content: Iterator[bytes] | None, timeout: float | None) -> httpx.Response:
        tries = 0
        while True:
            tries += 1
            try:
                return self._open_once(request, content, timeout)
            except (ConnectionError, UnavailableError) as error:
                if tries == MAX_TRIES or content is not None or not request.may_repeat(error):
                    raise
            runtime.sleep(retry_delay(tries))

    def _open_once(self, request: Request, content: Iterator[bytes] | None, timeout: float | None) -> httpx.Response:
        response = self.send(
            request.method, request.target, json=request.json, content=content, timeout=timeout, stream=True
        )
        if response.is_success:
            return response
        try:
            with http_errors(self.url):
                body = response.read()
        finally:
            response.close()
        raise api_error(response.status_code, body, response.headers.get(REQUEST_ID))

    def send(
        self, method: str, target: str, *, timeout: float | None = -1, stream: bool = False, **sent: Any
    ) -> httpx.Response:
        """Sends one request, once, and gives whatever is answered."""
        patience = self._timeout if timeout is not None and timeout < 0 else timeout
        limits = httpx.Timeout(patience, connect=_CONNECT_SECS if patience is None else min(patience, _CONNECT_SECS))
        request = self._http.build_request(method, self.url + target, timeout=limits, **sent)
        with http_errors(self.url):
            return self._http.send(request, stream=stream)

    @contextmanager
    def socket(self, request: Request, protocol: str | None = None) -> Iterator[runtime.Socket]:
        """Opens a WebSocket for a block."""
        patience = _CONNECT_SECS if self._timeout is None else min(self._timeout, _CONNECT_SECS)
        url = self.settings.socket_url + request.target
        with ExitStack() as stack:
            with handshake_errors(self.url):
                opening = runtime.open_socket(url, self.settings.headers, protocol, patience)
                socket = stack.enter_context(opening)
            yield socket


_CONNECT_OPTIONS = frozenset(ConnectOptions.__annotations__)


def split(options: Mapping[str, Any]) -> tuple[Client, dict[str, Any]]:
    """Parts what names the daemon from what the request is made of."""
    connect = cast("ConnectOptions", {name: options[name] for name in _CONNECT_OPTIONS & options.keys()})
    return Client.for_calls(connect), {name: options[name] for name in options.keys() - _CONNECT_OPTIONS}


def _http_client(where: Settings, *, keeps: bool) -> httpx.Client:
    """Makes an HTTP client. With a transport of its own, the environment's proxies are left out."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20 if keeps else 0)
    return httpx.Client(
        headers={"User-Agent": f"atoll-python/{__version__}", **where.headers},
        transport=httpx.HTTPTransport(limits=limits, socket_options=_KEEPALIVE),
    )
