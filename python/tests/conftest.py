"""What the tests stand on: a daemon that ATOLL_URL and ATOLL_TOKEN name, and few sandboxes, which many tests share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from recorder import Recorder, recording

from atoll import Client, Sandbox


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tells at the end which routes were not reached."""
    items.sort(key=lambda item: item.path.name == "test_routes.py")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Leaves each outcome in the file that ATOLL_TEST_RESULTS names."""
    target = os.environ.get("ATOLL_TEST_RESULTS")
    if target is None or (report.when != "call" and report.passed):
        return
    # What anyio runs it on is part of the name, in brackets.
    line = {"id": report.nodeid.partition("[")[0], "outcome": report.outcome, "said": report.longreprtext}
    with Path(target).open("a") as file:
        file.write(json.dumps(line) + "\n")


@pytest.fixture(scope="session", autouse=True)
def recorder() -> Iterator[Recorder]:
    """What was sent."""
    made = Recorder()
    with recording(made):
        yield made


@pytest.fixture(scope="session")
def shared_id() -> Iterator[str]:
    """A sandbox that no test stops."""
    with Sandbox.create(vcpu_count=1, mem_size_mib=256) as sandbox:
        yield sandbox.id


@pytest.fixture(scope="session")
def named_id() -> Iterator[str]:
    """A sandbox with a name and tags."""
    with Sandbox.create(
        name="ada", tags={"team": "blue", "who": "ada"}, env={"PLACE": "here"}, vcpu_count=1, mem_size_mib=256
    ) as sandbox:
        yield sandbox.id


@pytest.fixture(scope="session")
def snapshot_id() -> Iterator[str]:
    """A snapshot that no test uses up; in its sandbox there was a file, /root/kept."""
    sandbox = Sandbox.create(tags={"from": "tests"}, vcpu_count=1, mem_size_mib=256)
    sandbox.files.write("/root/kept", "as it was")
    snapshot = sandbox.snapshot()
    yield snapshot.id
    snapshot.delete()


@pytest.fixture
def client() -> Iterator[Client]:
    """A connection of the test's own."""
    with Client() as client:
        yield client


@pytest.fixture
def sandbox(client: Client, shared_id: str) -> Sandbox:
    """The sandbox that no test stops."""
    return Sandbox(client, shared_id)
