from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from polling import until

from atoll import ConflictError, NotFoundError, Sandbox

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


def ask(sandbox: Sandbox, url: str) -> str:
    return (sandbox.exec("python3", ["-c", ASK, url])).stdout


def test_a_tunnel_brings_the_callers_port_into_the_sandbox(sandbox: Sandbox) -> None:
    with local_server() as port:
        with sandbox.tunnel(9001, port=port) as tunnel:
            assert tunnel.guest_port == 9001
            for text in ("a", "bc"):
                assert ask(sandbox, f"http://127.0.0.1:9001/{text}") == text * 100_000
            with pytest.raises(ConflictError, match="port 9001 is in use"):
                sandbox.tunnel(9001, port=port)
    # Nothing is there to connect to: the program is told so.
    with sandbox.tunnel(9001, port=port):
        assert ask(sandbox, "http://127.0.0.1:9001/a") == ""


def test_closing_a_tunnel_ends_it(sandbox: Sandbox) -> None:
    with local_server() as port:
        tunnel = sandbox.tunnel(9002, port=port)
        tunnel.close()
        assert ask(sandbox, "http://127.0.0.1:9002/a") == ""
        tunnel.close()
        with pytest.raises(NotFoundError):
            sandbox.close_tunnel(tunnel.id)
        # By its id, as another program would.
        other = sandbox.tunnel(9002, port=port)
        sandbox.close_tunnel(other.id)

        def is_free() -> bool:
            return ask(sandbox, "http://127.0.0.1:9002/a") == ""

        until(is_free)
        other.close()
