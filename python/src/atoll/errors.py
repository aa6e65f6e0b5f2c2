"""What can go wrong. Every error of this package is an `AtollError`."""

from __future__ import annotations

import builtins
import json
from typing import cast

from .codes import RETRYABLE_CODES, STATUS_OF, ErrorCode

NOTHING_SAID = "the answer says no more"


class AtollError(Exception):
    """Any failure of this package's own."""


class ConnectionError(AtollError, builtins.ConnectionError):  # noqa: A001
    """The daemon was not reached, or the connection broke. The message names the URL."""


class NotConnectedError(ConnectionError):
    """The daemon was not reached; nothing was sent."""


class TimeoutError(AtollError, builtins.TimeoutError):  # noqa: A001
    """No answer came within the call's `timeout`."""


class UnexpectedAnswerError(AtollError):
    """The answer is not one of a daemon that this version of the package understands: is the URL right?"""


class ApiError(AtollError):
    """The daemon refused or failed a call. Its subclasses say how, by HTTP status."""

    def __init__(
        self, message: str, *, status: int, code: ErrorCode | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.code = code
        """The kind of failure; None where something between here and the daemon answered."""
        self.message = message
        """What went wrong and what to do."""
        self.request_id = request_id
        """The request's id, which the daemon's log has too."""

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code in RETRYABLE_CODES


class InvalidRequestError(ApiError):
    """400: a field has a value that is not taken, or an operation on files failed; `code` is the errno's name then."""


class UnauthorizedError(ApiError):
    """401: the token is missing or wrong."""


class ForbiddenError(ApiError):
    """403: the daemon does not serve this to a browser's page."""


class NotFoundError(ApiError):
    """404: there is no such thing; the message names its kind and id."""


class ConflictError(ApiError):
    """409: something else holds what is asked for, or is in the way."""


class TooLargeError(ApiError):
    """413: the body is over the daemon's limit."""


class InternalError(ApiError):
    """500: the daemon failed; its log has the details under `request_id`."""


class UnreachableError(ApiError):
    """502: the sandbox, or the server inside it, cannot be reached."""


class UnavailableError(ApiError):
    """503: the host has no room for it now."""


class PreviewTimeoutError(ApiError):
    """504: the server inside the sandbox does not answer in time."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    500: InternalError,
    502: UnreachableError,
    503: UnavailableError,
    504: PreviewTimeoutError,
}


def api_error(status: int, body: bytes, request_id: str | None) -> ApiError:
    """Gives the error that an answer stands for."""
    try:
        said = json.loads(body)
        message, code = str(said["error"]), cast("ErrorCode", str(said["code"]))
    except (ValueError, KeyError, TypeError):
        text = body.decode(errors="replace").strip()[:200]
        return _class_of(status)(f"HTTP {status}: {text or NOTHING_SAID}", status=status, request_id=request_id)
    return _class_of(status)(message, status=status, code=code, request_id=request_id)


def api_error_of_code(code: ErrorCode, message: str) -> ApiError:
    """Gives the error that one item of an answer stands for."""
    status = STATUS_OF.get(code, 400)
    return _class_of(status)(message, status=status, code=code)


def _class_of(status: int) -> type[ApiError]:
    return _BY_STATUS.get(status, ApiError)
