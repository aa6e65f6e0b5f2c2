from __future__ import annotations

import os
import urllib.request
from pathlib import Path

from polling import async_until

from atoll import AsyncProcess, AsyncSandbox

SERVER = Path(__file__).resolve()
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


async def serve(sandbox: AsyncSandbox, port: int) -> AsyncProcess:
    tests = next(folder for folder in SERVER.parents if folder.name == "tests")
    await sandbox.files.upload(tests / "support" / "guest_server.py", "/root/guest_server.py")
    server = await sandbox.spawn("python3", ["/root/guest_server.py", str(port)])

    async def answers() -> bool:
        return (await sandbox.fetch(port)).status_code == 200

    await async_until(answers)
    return server


async def test_a_preview_url_answers(sandbox: AsyncSandbox) -> None:
    server = await serve(sandbox, 8001)
    url = sandbox.preview_url(8001, "/page?a=1", with_token=True)
    with urllib.request.urlopen(url) as answer:
        assert b'"path": "/page?a=1"' in answer.read()
    token = os.environ.get("ATOLL_TOKEN")
    assert (token is not None and token in url) == (token is not None)
    assert "token" not in sandbox.preview_url(8001)
    await server.kill()


async def test_a_fetch_through_the_preview_carries_the_token(sandbox: AsyncSandbox) -> None:
    server = await serve(sandbox, 8002)
    for method in METHODS:
        for path, target in (("", "/"), ("deep/page?a=1", "/deep/page?a=1")):
            response = await sandbox.fetch(8002, path, method=method)
            assert response.status_code == 200
            if method != "HEAD":
                # The daemon keeps its token to itself.
                assert response.json() == {"method": method, "path": target, "authorization": None, "body": ""}
    told = await sandbox.fetch(8002, "/", method="POST", headers={"content-type": "text/plain"}, content="grüße")
    assert told.json()["body"] == "grüße"
    await server.kill()
    await server.wait()
    response = await sandbox.fetch(8002)
    assert (response.status_code, response.json()["code"]) == (502, "NOTHING_LISTENING")
