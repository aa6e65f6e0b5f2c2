"""Where the daemon is: what the caller says, else what the environment says."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .errors import AtollError

DEFAULT_URL = "http://127.0.0.1:7777"


@dataclass(frozen=True)
class Settings:
    """A daemon's address and the token it takes."""

    url: str
    token: str | None = field(repr=False)

    @property
    def socket_url(self) -> str:
        """The address for WebSockets."""
        return "ws" + self.url.removeprefix("http")

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


def settings(url: str | None, token: str | None) -> Settings:
    """Completes what is given from ATOLL_URL and ATOLL_TOKEN. An empty value is none."""
    address = (url or os.environ.get("ATOLL_URL") or DEFAULT_URL).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AtollError(f"url: {address!r} is no address of a daemon, such as {DEFAULT_URL}")
    return Settings(address, token or os.environ.get("ATOLL_TOKEN") or None)
