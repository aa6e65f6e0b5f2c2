"""Client of Atoll: microVM sandboxes over HTTP. Every class is there twice: `Async…` is for asyncio."""

from ._aio.checkpoint import AsyncCheckpoint
from ._aio.client import AsyncClient
from ._aio.drive import AsyncDrive
from ._aio.image import AsyncImage
from ._aio.pool import AsyncPool
from ._aio.process import AsyncProcess
from ._aio.sandbox import AsyncSandbox
from ._aio.snapshot import AsyncSnapshot
from ._aio.terminal import AsyncTerminal
from ._aio.tunnel import AsyncTunnel
from ._sync.checkpoint import Checkpoint
from ._sync.client import Client
from ._sync.drive import Drive
from ._sync.image import Image
from ._sync.pool import Pool
from ._sync.process import Process
from ._sync.sandbox import Sandbox
from ._sync.snapshot import Snapshot
from ._sync.terminal import Terminal
from ._sync.tunnel import Tunnel
from ._version import __version__
from .codes import ErrorCode
from .errors import (
    ApiError,
    AtollError,
    ConflictError,
    ConnectionError,
    ForbiddenError,
    InternalError,
    InvalidRequestError,
    NotConnectedError,
    NotFoundError,
    PreviewTimeoutError,
    TimeoutError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
)
from .results import CommandResult

__all__ = [
    "ApiError",
    "AsyncCheckpoint",
    "AsyncClient",
    "AsyncDrive",
    "AsyncImage",
    "AsyncPool",
    "AsyncProcess",
    "AsyncSandbox",
    "AsyncSnapshot",
    "AsyncTerminal",
    "AsyncTunnel",
    "AtollError",
    "Checkpoint",
    "Client",
    "CommandResult",
    "ConflictError",
    "ConnectionError",
    "Drive",
    "ErrorCode",
    "ForbiddenError",
    "Image",
    "InternalError",
    "InvalidRequestError",
    "NotConnectedError",
    "NotFoundError",
    "Pool",
    "PreviewTimeoutError",
    "Process",
    "Sandbox",
    "Snapshot",
    "Terminal",
    "TimeoutError",
    "TooLargeError",
    "Tunnel",
    "UnauthorizedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "__version__",
]
