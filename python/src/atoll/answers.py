"""What answers carry. Made from spec/openapi.json by scripts/generate.sh; not edited by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .codes import ErrorCode


@dataclass(frozen=True, kw_only=True)
class SandboxId:
    """Carried by answers: `SandboxId`."""

    id: str


@dataclass(frozen=True, kw_only=True)
class ErrorInfo:
    """Carried by answers: `ErrorInfo`."""

    error: str
    """What went wrong and what to do."""
    code: ErrorCode
    """Machine-readable kind of the failure; a closed set. x-status: the status it is answered with, 400 where none is named. x-retryable: the same call may succeed later."""


EgressMode = Literal["allow_all", "deny_all"]


@dataclass(frozen=True, kw_only=True)
class Egress:
    """Carried by answers: `Egress`."""

    mode: EgressMode
    allow_cidrs: list[str]
    deny_cidrs: list[str]


@dataclass(frozen=True, kw_only=True)
class RateLimitItem:
    """Carried by answers: `RateLimitItem`."""

    bandwidth_bytes_per_sec: int | None
    ops_per_sec: int | None


@dataclass(frozen=True, kw_only=True)
class SandboxInfoDrives:
    """Carried by answers: `SandboxInfoDrives`."""

    id: str
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class SandboxInfo:
    """Carried by answers: `SandboxInfo`."""

    id: str
    name: str | None
    tags: dict[str, str]
    created_at_unix: int
    image_id: str | None
    vcpu_count: int
    mem_size_mib: int
    egress: Egress | None
    rate_limit: RateLimitItem | None
    drives: list[SandboxInfoDrives]
    jailed: bool
    parent_snapshot_id: str | None


@dataclass(frozen=True, kw_only=True)
class SandboxList:
    """Carried by answers: `SandboxList`."""

    sandboxes: list[SandboxInfo]


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """Carried by answers: `Stopped`."""

    kept: bool
    snapshot_id: str | None


@dataclass(frozen=True, kw_only=True)
class GotOrCreated:
    """Carried by answers: `GotOrCreated`."""

    id: str
    created: bool
    """false: it lived, or was resumed."""


@dataclass(frozen=True, kw_only=True)
class PoolInfo:
    """Carried by answers: `PoolInfo`."""

    id: str
    image_id: str | None
    vcpu_count: int
    mem_size_mib: int
    warm_count: int
    max_count: int | None
    warm_ready: int
    """Instances that are ready now."""
    claimed: int
    """Live sandboxes of its profile now, warm or booted."""


@dataclass(frozen=True, kw_only=True)
class PoolList:
    """Carried by answers: `PoolList`."""

    pools: list[PoolInfo]


HistoryRecordEndReason = Literal["destroyed", "snapshotted", "orphaned_by_restart"]


@dataclass(frozen=True, kw_only=True)
class HistoryRecord:
    """Carried by answers: `HistoryRecord`."""

    id: str
    name: str | None
    tags: dict[str, str]
    image_id: str | None
    created_at_unix: int
    ended_at_unix: int | None
    end_reason: HistoryRecordEndReason | None
    final_snapshot_id: str | None


@dataclass(frozen=True, kw_only=True)
class HistoryList:
    """Carried by answers: `HistoryList`."""

    history: list[HistoryRecord]


@dataclass(frozen=True, kw_only=True)
class ImageInfo:
    """Carried by answers: `ImageInfo`."""

    id: str
    size_mib: int
    created_at_unix: int
    in_use_by: list[str] | None
    """Who boots from it: `sandbox <id>` or `snapshot <id>`; null when nobody does."""
    guest_agent_verified: Literal[False]
    verification_hint: str
    """How to look into the image, which the daemon cannot."""


@dataclass(frozen=True, kw_only=True)
class ImageList:
    """Carried by answers: `ImageList`."""

    images: list[ImageInfo]


@dataclass(frozen=True, kw_only=True)
class DriveInfoAttachedTo:
    """Carried by answers: `DriveInfoAttachedTo`."""

    holder: str
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class DriveInfo:
    """Carried by answers: `DriveInfo`."""

    id: str
    size_mib: int
    created_at_unix: int
    attached_to: list[DriveInfoAttachedTo]
    """Who holds it: `sandbox <id>` or `snapshot <id>`."""


@dataclass(frozen=True, kw_only=True)
class DriveList:
    """Carried by answers: `DriveList`."""

    drives: list[DriveInfo]


@dataclass(frozen=True, kw_only=True)
class SnapshotId:
    """Carried by answers: `SnapshotId`."""

    snapshot_id: str


@dataclass(frozen=True, kw_only=True)
class SnapshotInfo:
    """Carried by answers: `SnapshotInfo`."""

    id: str
    source_sandbox_id: str
    created_at_unix: int
    name: str | None
    tags: dict[str, str]
    image_id: str | None
    vcpu_count: int
    mem_size_mib: int
    forked_into: str | None
    """The live fork."""
    parent_snapshot_id: str | None
    archived_at_unix: int | None
    size_bytes: int
    """Disk space that a deletion would give back now: what no other snapshot or sandbox shares."""


@dataclass(frozen=True, kw_only=True)
class SnapshotList:
    """Carried by answers: `SnapshotList`."""

    snapshots: list[SnapshotInfo]


@dataclass(frozen=True, kw_only=True)
class CloneList:
    """Carried by answers: `CloneList`."""

    sandboxes: list[SandboxId | ErrorInfo]


@dataclass(frozen=True, kw_only=True)
class CheckpointInfo:
    """Carried by answers: `CheckpointInfo`."""

    id: str
    source_sandbox_id: str
    created_at_unix: int
    retired_at_unix: int
    name: str | None
    tags: dict[str, str]
    parent_snapshot_id: str | None
    pinned: bool
    """Whether the limits on history leave it alone."""
    size_bytes: int
    """Disk space that a deletion would give back now: what no other snapshot or sandbox shares."""


@dataclass(frozen=True, kw_only=True)
class CheckpointList:
    """Carried by answers: `CheckpointList`."""

    checkpoints: list[CheckpointInfo]


PrunedCheckpointsReason = Literal["keep_last", "max_age", "max_bytes"]


@dataclass(frozen=True, kw_only=True)
class PrunedCheckpoints:
    """Carried by answers: `PrunedCheckpoints`."""

    id: str
    reason: PrunedCheckpointsReason
    """The limit it is beyond: SERVICE_HISTORY_KEEP_LAST, _MAX_AGE_SECS, _MAX_BYTES."""
    size_bytes: int
    """Disk space that a deletion would give back now: what no other snapshot or sandbox shares."""


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """Carried by answers: `Pruned`."""

    dry_run: bool
    checkpoints: list[PrunedCheckpoints]
    bytes: int
    """Disk space that comes back with them, at least."""


@dataclass(frozen=True, kw_only=True)
class MountInfo:
    """Carried by answers: `MountInfo`."""

    id: str
    bucket: str
    endpoint: str
    mount_path: str
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class MountList:
    """Carried by answers: `MountList`."""

    mounts: list[MountInfo]


@dataclass(frozen=True, kw_only=True)
class ExecResult:
    """Carried by answers: `ExecResult`."""

    stdout: str
    """UTF-8; bytes that are not are replaced by U+FFFD."""
    stderr: str
    exit_code: int
    """127: not found; 126: not executable; 128+N: killed by signal N; 124: timed out."""
    timed_out: Literal[True] | None = None
    stdout_base64: str | None = None
    """The exact bytes, when they were not UTF-8."""
    stderr_base64: str | None = None
    truncated: Literal[True] | None = None
    """Output beyond SERVICE_MAX_EXEC_OUTPUT_BYTES of a stream was dropped."""


@dataclass(frozen=True, kw_only=True)
class ExecStreamId:
    """Carried by answers: `ExecStreamId`."""

    id: str


@dataclass(frozen=True, kw_only=True)
class ExecStreamSession:
    """Carried by answers: `ExecStreamSession`."""

    id: str
    command: str
    args: list[str]
    started_at_unix: int
    exit_code: int | None
    """null while it runs; 126 and 127: it could not be started."""


@dataclass(frozen=True, kw_only=True)
class ExecStreamList:
    """Carried by answers: `ExecStreamList`."""

    sessions: list[ExecStreamSession]


@dataclass(frozen=True, kw_only=True)
class TunnelInfo:
    """Carried by answers: `TunnelInfo`."""

    tunnel_id: str
    guest_port: int


@dataclass(frozen=True, kw_only=True)
class ReadFileResult:
    """Carried by answers: `ReadFileResult`."""

    content_base64: str


@dataclass(frozen=True, kw_only=True)
class ReadlinkResult:
    """Carried by answers: `ReadlinkResult`."""

    target: str


DirEntryType = Literal["file", "dir", "symlink", "fifo", "socket", "block", "char"]


@dataclass(frozen=True, kw_only=True)
class DirEntry:
    """Carried by answers: `DirEntry`."""

    name: str
    type: DirEntryType
    is_dir: bool
    is_symlink: bool
    size: int
    mode: int
    """The 12 permission bits."""
    mtime_unix: int


@dataclass(frozen=True, kw_only=True)
class ListDirResult:
    """Carried by answers: `ListDirResult`."""

    entries: list[DirEntry]
