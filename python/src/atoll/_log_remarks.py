"""The text messages of a background command's log: its end, and output that was not kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

_EXITED = re.compile(r"\[process exited with code (-?\d+)\]")
_DROPPED = re.compile(r"\[(?:\.\.\. (\d+) earlier bytes truncated \.\.\.|reader fell behind: (\d+) bytes skipped)\]")


@dataclass(frozen=True)
class Exited:
    """The command's end."""

    exit_code: int


@dataclass(frozen=True)
class Dropped:
    """So many bytes of output are lost."""

    count: int


def parse_remark(text: str) -> Exited | Dropped | None:
    """Gives what a text message says; None is a remark of a newer daemon."""
    if exited := _EXITED.fullmatch(text):
        return Exited(int(exited[1]))
    if dropped := _DROPPED.fullmatch(text):
        return Dropped(int(dropped[1] or dropped[2]))
    return None
