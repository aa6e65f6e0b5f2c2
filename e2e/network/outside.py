"""The world beyond the uplink: on each address given, TCP and UDP on port 7000 and HTTP on port 80 that answer who asks.

Says "ready" when it listens; ends with its input.
"""

import socket
import sys
import threading

BANNER_PORT = 7000
WEB_PORT = 80


def serve_stream(server, respond):
    while True:
        connection, peer = server.accept()
        threading.Thread(target=respond, args=(connection, peer[0]), daemon=True).start()


def banner(connection, peer):
    with connection:
        connection.sendall(peer.encode())


def page(connection, peer):
    with connection:
        connection.recv(4000)
        body = peer.encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def serve_packets(sock):
    while True:
        _, peer = sock.recvfrom(2000)
        sock.sendto(peer[0].encode(), peer)


def start(target, *args):
    threading.Thread(target=target, args=args, daemon=True).start()


for address in sys.argv[1:]:
    start(serve_stream, socket.create_server((address, BANNER_PORT)), banner)
    start(serve_stream, socket.create_server((address, WEB_PORT)), page)
    packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind((address, BANNER_PORT))
    start(serve_packets, packets)
print("ready", flush=True)
sys.stdin.read()
