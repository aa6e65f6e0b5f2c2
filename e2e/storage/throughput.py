"""How fast bytes pass between two hosts. `serve ADDRESS`: says "ready" and ends with its input. `get ADDRESS BYTES`, `put
ADDRESS BYTES`: prints bytes a second. `ops DEVICE COUNT`: reads blocks of 4 KiB past the page cache, prints reads a second."""

import mmap
import os
import random
import socket
import struct
import sys
import threading
import time

PORT = 7001
CHUNK = bytes(64 * 1024)


def receive(connection, count):
    left = count
    while left > 0:
        data = connection.recv(min(left, len(CHUNK)))
        if not data:
            raise SystemExit("the connection ended early")
        left -= len(data)


def send(connection, count):
    while count > 0:
        part = CHUNK[: min(count, len(CHUNK))]
        connection.sendall(part)
        count -= len(part)


def answer(connection):
    with connection:
        way, count = struct.unpack("!cQ", connection.recv(9, socket.MSG_WAITALL))
        if way == b"g":
            send(connection, count)
        else:
            receive(connection, count)
            connection.sendall(b"!")


def serve(address):
    server = socket.create_server((address, PORT))
    print("ready", flush=True)

    def accept():
        while True:
            threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


def exchange(way, address, count):
    with socket.create_connection((address, PORT), timeout=60) as connection:
        started = time.monotonic()
        connection.sendall(struct.pack("!cQ", way, count))
        if way == b"g":
            receive(connection, count)
        else:
            send(connection, count)
            receive(connection, 1)
        print(count / (time.monotonic() - started))


def ops(device, count):
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    blocks = os.lseek(fd, 0, os.SEEK_END) // 4096
    buffer = mmap.mmap(-1, 4096)
    started = time.monotonic()
    for _ in range(count):
        os.preadv(fd, [buffer], random.randrange(blocks) * 4096)
    print(count / (time.monotonic() - started))


command, *args = sys.argv[1:]
if command == "serve":
    serve(*args)
elif command == "ops":
    ops(args[0], int(args[1]))
else:
    exchange({"get": b"g", "put": b"p"}[command], args[0], int(args[1]))
