"""Background commands."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from websockets.exceptions import ConnectionClosed

from .._http_errors import broken_socket
from .._log_remarks import Dropped, Exited, parse_remark
from .._request import delete, get, path_of, post
from ..answers import ExecStreamList, ExecStreamSession
from ..errors import NotFoundError, UnexpectedAnswerError
from .client import Client


class Process:
    """A command that runs in the background of a sandbox. Its log is kept, up to 1 MiB, and may be read many times."""

    def __init__(self, client: Client, sandbox: str, process_id: str, *, exit_code: int | None = None) -> None:
        self._client = client
        self._sandbox = sandbox
        self.id = process_id
        self.exit_code = exit_code
        """The exit code, once `output`, `text` or `wait` has seen the end; 128+N: killed by signal N."""
        self.dropped_bytes = 0
        """How many bytes of output the last `output`, `text` or `wait` did not get, since they were not kept."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, exit_code={self.exit_code!r})"

    def info(self) -> ExecStreamSession:
        """Gives the command, its arguments, when it began, and its exit code or None."""
        for session in sessions(self._client, self._sandbox):
            if session.id == self.id:
                return session
        raise NotFoundError(f"exec-stream session not found: {self.id}", status=404, code="NOT_FOUND")

    def output(self) -> Iterator[bytes]:
        """Gives what the command writes, both streams in order, from its beginning to its end.

        Raises:
            ConnectionError: the sandbox or the daemon went away before the end.
        """
        self.dropped_bytes = 0
        with self._client.socket(get(self._path("logs"))) as socket:
            try:
                while True:
                    message = socket.recv()
                    if isinstance(message, bytes):
                        yield message
                        continue
                    remark = parse_remark(message)
                    if isinstance(remark, Exited):
                        self.exit_code = remark.exit_code
                        return
                    if isinstance(remark, Dropped):
                        self.dropped_bytes += remark.count
            except ConnectionClosed as error:
                raise broken_socket(self._client.url, error) from error

    def text(self) -> str:
        """Gives all that the command writes, at its end; what is not UTF-8 is replaced."""
        pieces = [piece for piece in self.output()]
        return b"".join(pieces).decode(errors="replace")

    def wait(self) -> int:
        """Gives the exit code, at the command's end."""
        for _ in self.output():
            pass
        if self.exit_code is None:
            raise UnexpectedAnswerError("the log ended without an exit code")
        return self.exit_code

    def kill(self, signal: str = "TERM") -> None:
        """Sends a signal, such as TERM, KILL or INT."""
        self._client.call(delete(self._path(), signal=signal))

    def write_stdin(self, data: bytes | str) -> None:
        """Feeds the standard input."""
        raw = data.encode() if isinstance(data, str) else data
        self._client.call(post(self._path("stdin"), {"stdin_base64": b64encode(raw).decode()}))

    def close_stdin(self) -> None:
        """Ends the standard input."""
        self._client.call(post(self._path("stdin"), {"eof": True}))

    def _path(self, *route: str) -> str:
        return path_of("sandboxes", self._sandbox, "exec-stream", self.id, *route)


def sessions(client: Client, sandbox: str) -> list[ExecStreamSession]:
    """Lists the background commands of a sandbox, oldest first."""
    return (client.ask(ExecStreamList, get(path_of("sandboxes", sandbox, "exec-stream")))).sessions
