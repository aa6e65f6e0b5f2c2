"""Runs inside a sandbox: a web server that tells every request it gets."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = {
            "method": self.command,
            "path": self.path,
            "authorization": self.headers.get("authorization"),
            "body": self.rfile.read(length).decode(),
        }
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer  # noqa: N815


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
