"""Results that can do more than the contract says."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass

from .answers import ExecResult


@dataclass(frozen=True, kw_only=True)
class CommandResult(ExecResult):
    """What a command gave: `stdout`, `stderr` and `exit_code`."""

    @property
    def stdout_bytes(self) -> bytes:
        """The exact bytes of `stdout`."""
        return self.stdout.encode() if self.stdout_base64 is None else b64decode(self.stdout_base64)

    @property
    def stderr_bytes(self) -> bytes:
        """The exact bytes of `stderr`."""
        return self.stderr.encode() if self.stderr_base64 is None else b64decode(self.stderr_base64)
