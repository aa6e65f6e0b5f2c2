"""What mypy must refuse. Each comment that silences an error is itself an error where there is none to silence."""

from __future__ import annotations

from atoll import ApiError, AsyncSandbox, Client, CommandResult, Drive, Pool, Sandbox, Snapshot


def refused_by_mypy(client: Client, sandbox: Sandbox) -> None:
    Sandbox.create(vcpu_count="2", client=client)  # type: ignore[arg-type]
    Sandbox.create(vcpus=2, client=client)  # type: ignore[call-arg]
    Sandbox.create(egress={"mode": "open"}, client=client)  # type: ignore[arg-type]
    Sandbox.create(drives=[{"read_only": True}], client=client)  # type: ignore[typeddict-item]
    Sandbox.get_or_create(client=client)  # type: ignore[call-arg]
    Pool.create(id="a", client=client)  # type: ignore[call-arg]
    Drive.create("64", client=client)  # type: ignore[arg-type]
    Snapshot.list(source="a", client=client)  # type: ignore[call-arg]
    sandbox.exec("ls -l", env={"A": 1})  # type: ignore[dict-item]
    sandbox.exec("ls", timeout_ms="5")  # type: ignore[arg-type]
    sandbox.files.chmod("/a", "644")  # type: ignore[arg-type]
    sandbox.mounts.create(bucket="a", endpoint="b", mount_path="/c")  # type: ignore[call-arg]
    for clone in Sandbox.clone("a", 2, client=client):
        clone.exec("ls")  # type: ignore[union-attr]


def codes_are_a_closed_set(error: ApiError, result: CommandResult) -> bool:
    result.exit_code = 0  # type: ignore[misc]
    return error.code == "NO_SUCH_CODE"  # type: ignore[comparison-overlap]


async def a_plain_client_is_none_for_asyncio(client: Client) -> None:
    await AsyncSandbox.create(client=client)  # type: ignore[arg-type]
