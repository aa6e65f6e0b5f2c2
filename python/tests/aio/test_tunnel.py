from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from polling import async_until

from atoll import AsyncSandbox, ConflictError, NotFoundError

ASK = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode(), end='')"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = (self.path[1:] * 100_000).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def local_server() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


async def ask(sandbox: AsyncSandbox, url: str) -> str:
    return (await sandbox.exec("python3", ["-c", ASK, url])).stdout


async def test_a_tunnel_brings_the_callers_port_into_the_sandbox(sandbox: AsyncSandbox) -> None:
    with local_server() as port:
        async with await sandbox.tunnel(9001, port=port) as tunnel:
            assert tunnel.guest_port == 9001
            for text in ("a", "bc"):
                assert await ask(sandbox, f"http://127.0.0.1:9001/{text}") == text * 100_000
            with pytest.raises(ConflictError, match="port 9001 is in use"):
                await sandbox.tunnel(9001, port=port)
    # Nothing is there to connect to: the program is told so.
    async with await sandbox.tunnel(9001, port=port):
        assert await ask(sandbox, "http://127.0.0.1:9001/a") == ""


async def test_closing_a_tunnel_ends_it(sandbox: AsyncSandbox) -> None:
    with local_server() as port:
        tunnel = await sandbox.tunnel(9002, port=port)
        await tunnel.close()
        assert await ask(sandbox, "http://127.0.0.1:9002/a") == ""
        await tunnel.close()
        with pytest.raises(NotFoundError):
            await sandbox.close_tunnel(tunnel.id)
        # By its id, as another program would.
        other = await sandbox.tunnel(9002, port=port)
        await sandbox.close_tunnel(other.id)

        async def is_free() -> bool:
            return await ask(sandbox, "http://127.0.0.1:9002/a") == ""

        await async_until(is_free)
        await other.close()
