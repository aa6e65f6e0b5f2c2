"""An HTTP/1.1 server for the inside of a sandbox. Usage: server.py ADDRESS PORT. Its large bodies are made of /tmp/block."""
import base64, hashlib, json, os, socketserver, struct, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit, parse_qs


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pieces(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            piece = self.rfile.read(min(left, 1 << 18))
            if not piece:
                return
            left -= len(piece)
            yield piece

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status >= 200 and status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        route = urlsplit(self.path).path.split("/")[1]
        getattr(self, "do_" + route, self.show)(parse_qs(urlsplit(self.path).query))

    def show(self, _query):
        digest, size = hashlib.md5(), 0
        for piece in self.pieces():
            digest.update(piece)
            size += len(piece)
        view = {"method": self.command, "path": self.path, "headers": self.headers.items(),
                "size": size, "md5": digest.hexdigest()}
        self.answer(200, json.dumps(view).encode(), Content_Type="application/json",
                    Connection="close, X-Hop", X_Hop="for this hop only", X_End="for the client",
                    Service_Worker_Allowed="/")

    def do_peer(self, query):
        """Says by which connection it was asked; with `then=close` it ends that without a word."""
        self.answer(200, str(self.client_address[1]).encode())
        self.close_connection = query.get("then") == ["close"]

    def do_from(self, _query):
        """Says which address it was asked from."""
        for _piece in self.pieces():
            pass
        self.answer(200, self.client_address[0].encode())

    def do_down(self, query):
        block, count = bytearray(open("/tmp/block", "rb").read()), int(query["mib"][0])
        self.send_response(200)
        self.send_header("Content-Length", str(len(block) * count))
        self.end_headers()
        for at in range(count):
            struct.pack_into(">Q", block, 0, at)
            self.wfile.write(block)

    def do_chunked(self, _query):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (b"one ", b"two ", b"three"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def do_events(self, _query):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for at in range(5):
            self.wfile.write(b"data: %d\n\n" % at)
            time.sleep(0.4)

    def do_endless(self, _query):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b"more\n")
                time.sleep(0.05)
        except OSError:
            open("/tmp/client-left", "w").close()

    def do_never(self, _query):
        time.sleep(3600)

    def do_unchanged(self, _query):
        self.answer(304, ETag='"a"')

    def do_nothing(self, _query):
        self.answer(204)

    def do_refuse(self, _query):
        self.answer(413, b"too much", Connection="close")
        self.close_connection = True

    def do_page(self, _query):
        self.answer(200, b"<title>page</title><script>document.title = [location.href, document.cookie, document.referrer,"
                         b" performance.getEntriesByType('navigation')[0].name].join(' ')</script>",
                    Content_Type="text/html")

    def do_garbage(self, _query):
        self.wfile.write(b"this is no HTTP\r\n\r\n")
        self.close_connection = True

    def do_socket(self, _query):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while len(head := self.rfile.read(2)) == 2:
            size = head[1] & 127
            length = head[1:2]
            if size >= 126:
                length = self.rfile.read(2 if size == 126 else 8)
                size = int.from_bytes(length, "big")
                length = (b"\x7e" if len(length) == 2 else b"\x7f") + length
            else:
                length = bytes([size])
            mask, masked = self.rfile.read(4), self.rfile.read(size)
            plain = (int.from_bytes(masked, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
            self.wfile.write(head[:1] + length + plain)
            if head[0] & 15 == 8:
                return

    def handle_expect_100(self):
        open("/tmp/expected", "w").close()
        return super().handle_expect_100()

    def __getattr__(self, name):
        if name.startswith("do_") and name[3:].isupper() or name == "do_M-SEARCH":
            return self.handle_any
        raise AttributeError(name)


class Server6(Server):
    import socket
    address_family = socket.AF_INET6


address, port = sys.argv[1], int(sys.argv[2])
(Server6 if ":" in address else Server)((address, port), Handler).serve_forever()
