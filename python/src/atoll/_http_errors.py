"""Failures of the libraries below, as errors of this package."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from .errors import AtollError, ConnectionError, NotConnectedError, TimeoutError, api_error

REQUEST_ID = "x-request-id"


@contextmanager
def http_errors(url: str) -> Iterator[None]:
    """Turns what httpx raises inside into an error that names the URL."""
    try:
        yield
    except httpx.ConnectTimeout as error:
        raise NotConnectedError(f"cannot reach {url}: no connection in time") from error
    except httpx.TimeoutException as error:
        raise TimeoutError(f"no answer from {url} in time") from error
    except httpx.ConnectError as error:
        raise NotConnectedError(f"cannot reach {url}: {_reason(error)}; does atolld run there?") from error
    except httpx.TransportError as error:
        raise ConnectionError(f"the connection to {url} broke: {_reason(error)}") from error


@contextmanager
def handshake_errors(url: str) -> Iterator[None]:
    """Turns what the handshake of a WebSocket raises inside into an error of this package."""
    try:
        yield
    except InvalidStatus as error:
        response = error.response
        raise api_error(response.status_code, bytes(response.body or b""), response.headers.get(REQUEST_ID)) from None
    except InvalidHandshake as error:
        raise AtollError(f"{url} does not answer as atolld does: {_reason(error)}") from error
    except (builtins.TimeoutError, asyncio.TimeoutError) as error:
        raise TimeoutError(f"no answer from {url} in time") from error
    except (OSError, EOFError) as error:
        raise NotConnectedError(f"cannot reach {url}: {_reason(error)}; does atolld run there?") from error


def broken_socket(url: str, error: ConnectionClosed) -> ConnectionError:
    """Gives the error for a WebSocket that ended too early: what the daemon said of it, if it said anything."""
    said = error.rcvd.reason if error.rcvd is not None else ""
    return ConnectionError(f"the connection to {url} ended early: {said or 'it broke'}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
