"""A request, described without being sent: one description for both worlds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from .errors import ConnectionError, NotConnectedError, UnavailableError

MAX_TRIES = 4
_FIRST_DELAY_SECS = 0.1


@dataclass(frozen=True)
class Request:
    """One call of the service."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    json: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def target(self) -> str:
        """The path with its query."""
        return f"{self.path}?{urlencode(self.query, quote_via=quote)}" if self.query else self.path

    def may_repeat(self, error: Exception) -> bool:
        """Whether to send it again after this failure is harmless, and may help."""
        if isinstance(error, NotConnectedError):
            return self.method in ("GET", "HEAD", "DELETE")
        if self.method not in ("GET", "HEAD"):
            return False
        return isinstance(error, ConnectionError) or (isinstance(error, UnavailableError) and error.retryable)


def get(path: str, /, **query: str | bool | int | None) -> Request:
    """A request that only asks."""
    return Request("GET", path, _query(query))


def post(path: str, json: Mapping[str, object] | None = None, /, **query: str | bool | int | None) -> Request:
    """A request that makes or does something. Fields that are None are left out."""
    body = None if json is None else {name: value for name, value in json.items() if value is not None}
    return Request("POST", path, _query(query), body)


def patch(path: str, json: Mapping[str, object]) -> Request:
    """A request that changes something."""
    return Request("PATCH", path, (), json)


def delete(path: str, /, **query: str | bool | int | None) -> Request:
    """A request that ends or removes something."""
    return Request("DELETE", path, _query(query))


def path_of(*segments: str | int) -> str:
    """A path of these segments, whatever is in them."""
    return "".join(f"/{quote(str(segment), safe='')}" for segment in segments)


def retry_delay(tries: int) -> float:
    """Seconds to wait after so many tries: twice as long each time, and spread, since callers fail together."""
    return _FIRST_DELAY_SECS * 2.0 ** (tries - 1) * random.uniform(0.5, 1)  # noqa: S311


def _query(query: Mapping[str, str | bool | int | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(value)) for name, value in query.items() if value is not None)


def _text(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
