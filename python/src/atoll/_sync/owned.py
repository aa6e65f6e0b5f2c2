"""Things that the daemon holds: the contract's fields, and the client to act on them with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from .client import Client


@dataclass(frozen=True, kw_only=True)
class Owned:
    """Something that came from a daemon, as it was then."""

    client: Client = field(repr=False, compare=False)
    """What it came by."""


O = TypeVar("O", bound=Owned)  # noqa: E741


def owned(shape: type[O], client: Client, info: Any) -> O:
    """Gives what an answer carries as something to act on."""
    return shape(client=client, **{each.name: getattr(info, each.name) for each in fields(info)})
