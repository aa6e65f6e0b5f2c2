"""What requests carry. Made from spec/openapi.json by scripts/generate.sh; not edited by hand."""

from __future__ import annotations

from typing import Literal, TypedDict

from typing_extensions import Required


class DriveRequest(TypedDict, total=False):
    """Carried by requests: `DriveRequest`."""

    id: Required[str]
    """Id of the drive; mounted at /mnt/drives/<id>."""
    read_only: bool | None
    """Several may hold it at a time if all of them only read."""


class RateLimit(TypedDict, total=False):
    """Carried by requests: `RateLimit`."""

    bandwidth_bytes_per_sec: int | None
    """Bytes a second; 0 is no limit."""
    ops_per_sec: int | None
    """Requests to a disk, and packets each way of the network card, a second; 0 is no limit."""


EgressPolicyMode = Literal["allow_all", "deny_all"]


class EgressPolicy(TypedDict, total=False):
    """Carried by requests: `EgressPolicy`."""

    mode: Required[EgressPolicyMode]
    """allow_all: everything but deny_cidrs; deny_all: nothing but allow_cidrs."""
    allow_cidrs: list[str] | None
    """IPv4 networks that are open."""
    deny_cidrs: list[str] | None
    """IPv4 networks that are closed, even where an open one overlaps."""


class CreateSandbox(TypedDict, total=False):
    """Carried by requests: `CreateSandbox`."""

    name: str | None
    """Unique among live sandboxes; works wherever an id does."""
    tags: dict[str, str] | None
    """Filterable at list time."""
    vcpu_count: int | None
    """Virtual CPUs; the default is SERVICE_VCPU_COUNT."""
    mem_size_mib: int | None
    """Memory in MiB; the default is SERVICE_MEM_SIZE_MIB."""
    image_id: str | None
    """A registered image to boot from, not the default root file system."""
    drives: list[DriveRequest] | None
    """Drives to attach; mounted at /mnt/drives/<id>."""
    rate_limit: RateLimit | None
    """Limits of I/O; the default is none."""
    egress: EgressPolicy | None
    """What it may reach; the default is everything beyond the host."""
    env: dict[str, str] | None
    """Environment of every command in the sandbox, for its lifetime."""


class GetOrCreate(TypedDict, total=False):
    """Carried by requests: `GetOrCreate`."""

    name: Required[str]
    """Whose sandbox is asked for."""
    tags: dict[str, str] | None
    """Filterable at list time."""
    vcpu_count: int | None
    """Virtual CPUs; the default is SERVICE_VCPU_COUNT."""
    mem_size_mib: int | None
    """Memory in MiB; the default is SERVICE_MEM_SIZE_MIB."""
    image_id: str | None
    """A registered image to boot from, not the default root file system."""
    drives: list[DriveRequest] | None
    """Drives to attach; mounted at /mnt/drives/<id>."""
    rate_limit: RateLimit | None
    """Limits of I/O; the default is none."""
    egress: EgressPolicy | None
    """What it may reach; the default is everything beyond the host."""
    env: dict[str, str] | None
    """Environment of every command in the sandbox, for its lifetime."""


class CreatePool(TypedDict, total=False):
    """Carried by requests: `CreatePool`."""

    id: Required[str]
    """Its name, which no other pool has."""
    image_id: str | None
    """The image its instances boot from; the default is the base one."""
    vcpu_count: int | None
    """Virtual CPUs; the default is SERVICE_VCPU_COUNT."""
    mem_size_mib: int | None
    """Memory in MiB; the default is SERVICE_MEM_SIZE_MIB."""
    warm_count: Required[int]
    """How many instances are to be ready: a target. 0 keeps none."""
    max_count: int | None
    """How many instances there are at most, ready and claimed; a create beyond that waits."""


class RegisterImage(TypedDict, total=False):
    """Carried by requests: `RegisterImage`."""

    id: Required[str]
    """What sandboxes ask for it by."""
    path: Required[str]
    """An ext4 file on the host, which is copied."""


class CreateDrive(TypedDict, total=False):
    """Carried by requests: `CreateDrive`."""

    size_mib: Required[int]
    """Size in MiB. Room on the host is taken as it is written."""


class CloneRequest(TypedDict, total=False):
    """Carried by requests: `CloneRequest`."""

    count: Required[int]
    name_prefix: str | None
    """Names the clones <prefix>-1, <prefix>-2 and so on; without it they have no names."""
    tags: dict[str, str] | None
    """The snapshot's own when absent."""


class PinCheckpoint(TypedDict, total=False):
    """Carried by requests: `PinCheckpoint`."""

    pinned: Required[bool]
    """true: no limit on history removes it."""


class PruneRequest(TypedDict, total=False):
    """Carried by requests: `PruneRequest`."""

    dry_run: bool | None
    """true: only says what would go."""


class CreateMount(TypedDict, total=False):
    """Carried by requests: `CreateMount`."""

    bucket: Required[str]
    """Name of the bucket; a path below it may follow."""
    endpoint: Required[str]
    """Full URL of the object store; there is no default."""
    access_key: Required[str]
    secret_key: Required[str]
    """Written into the guest, and kept nowhere else."""
    mount_path: Required[str]
    """Where in the guest; made with its parents if it is missing."""
    read_only: bool | None
    """The default is false."""


class ExecRequest(TypedDict, total=False):
    """Carried by requests: `ExecRequest`."""

    command: Required[str]
    args: list[str] | None
    """Arguments, passed as they are: no shell reads them."""
    env: dict[str, str] | None
    """Merged over the sandbox's env; these values win."""
    cwd: str | None
    """Working directory; / when absent."""
    timeout_ms: int | None
    """Kills the command after this many milliseconds; exit_code is 124 and timed_out true then."""
    stdin_base64: str | None
    """Bytes for the standard input, in base64."""
    user: str | None
    """User name, uid or uid:gid; root when absent."""


class ExecStreamRequest(TypedDict, total=False):
    """Carried by requests: `ExecStreamRequest`."""

    command: Required[str]
    args: list[str] | None
    """Arguments, passed as they are: no shell reads them."""
    env: dict[str, str] | None
    """Merged over the sandbox's env; these values win."""
    cwd: str | None
    """Working directory; / when absent."""
    user: str | None
    """User name, uid or uid:gid; root when absent."""


class StdinRequest(TypedDict, total=False):
    """Carried by requests: `StdinRequest`."""

    stdin: str | None
    """Text, sent as UTF-8."""
    stdin_base64: str | None
    """Bytes in base64; they follow the text where both are given."""
    eof: bool | None
    """Closes the standard input after these bytes."""


class CreateTunnel(TypedDict, total=False):
    """Carried by requests: `CreateTunnel`."""

    guest_port: Required[int]
    """Port of the guest's 127.0.0.1 that will reach the caller."""


class WriteFileRequest(TypedDict, total=False):
    """Carried by requests: `WriteFileRequest`."""

    path: Required[str]
    content_base64: Required[str]


class ChmodRequest(TypedDict, total=False):
    """Carried by requests: `ChmodRequest`."""

    path: Required[str]
    mode: Required[int]
    """Permission bits as a number: 0o644 is 420."""


class ChownRequest(TypedDict, total=False):
    """Carried by requests: `ChownRequest`."""

    path: Required[str]
    uid: Required[int]
    gid: Required[int]


class MkdirRequest(TypedDict, total=False):
    """Carried by requests: `MkdirRequest`."""

    path: Required[str]
    parents: bool | None
    """Make missing parents too, and accept a directory that exists."""


FromToRequest = TypedDict("FromToRequest", {"from": str, "to": str})


class SymlinkRequest(TypedDict, total=False):
    """Carried by requests: `SymlinkRequest`."""

    target: Required[str]
    link_path: Required[str]


class TruncateRequest(TypedDict, total=False):
    """Carried by requests: `TruncateRequest`."""

    path: Required[str]
    size: Required[int]


class PathRequest(TypedDict, total=False):
    """Carried by requests: `PathRequest`."""

    path: Required[str]
