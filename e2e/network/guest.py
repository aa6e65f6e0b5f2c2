"""A stand-in for a guest: a network namespace wired to a tap of the host, and a program in it that does as it is told.

Started in the host's namespace as root: guest.py TAP OWNER_UID NAMESPACE MAC ADDRESS PREFIX GATEWAY. A child with the
owner's uid and no capability opens the tap, as a VM monitor does, and carries frames between it and the namespace's eth0.
Requests are JSON lines on standard input, answered in any order on standard output; it ends with its input.
"""

import ctypes
import fcntl
import http.client
import json
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

TUNSETIFF = 0x400454CA
IFF_TAP_WITHOUT_HEADER = 0x0002 | 0x1000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
FRAME_BYTES = 65536
ETH_P_ALL = 3
DEVICE = "eth0"
libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open("/run/netns/" + namespace) as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns " + namespace)


def open_tun():
    return os.open("/dev/net/tun", os.O_RDWR)


def become(fd, device):
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP_WITHOUT_HEADER))


def carry(host, guest, tap, uid, wired):
    """Copies frames both ways for ever, as an unprivileged user."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(PR_SET_PDEATHSIG, 9)  # A change of user would undo it.
    become(host, tap)
    os.close(wired)
    selector = selectors.DefaultSelector()
    selector.register(host, selectors.EVENT_READ, guest)
    selector.register(guest, selectors.EVENT_READ, host)
    while True:
        for key, _ in selector.select():
            frame = os.read(key.fd, FRAME_BYTES)
            try:
                os.write(key.data, frame)
            except OSError:
                pass  # The other device is down for a moment.


def tcp(host, port, timeout=1.0):
    with socket.create_connection((host, port), timeout) as connection:
        return connection.recv(200).decode()


def udp(host, port, timeout=1.0):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.sendto(b"hello", (host, port))
        return sock.recv(200).decode()


def icmp(host, source=None, timeout=1.0):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        if source is not None:
            sock.bind((source, 0))
        sock.settimeout(timeout)
        body = struct.pack("!HH", os.getpid() & 0xFFFF, threading.get_ident() & 0xFFFF) + b"atoll"
        sock.sendto(struct.pack("!BBH", 8, 0, checksum(struct.pack("!BBH", 8, 0, 0) + body)) + body, (host, 0))
        while True:
            packet, peer = sock.recvfrom(2000)
            # A raw socket hears every answer, also that to a question asked of another host at the same time.
            if packet[20] == 0 and packet[24:] == body and peer[0] == host:
                return peer[0]


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def web(host, path, method="GET", headers=None, port=80, timeout=2.0):
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return {"status": response.status, "body": response.read().decode()}
    finally:
        connection.close()


def question(number, name, kind):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)


def skip_name(message, place):
    while message[place] not in (0,) and message[place] < 0xC0:
        place += 1 + message[place]
    return place + (1 if message[place] == 0 else 2)


def answers(message):
    found = []
    place = skip_name(message, 12) + 4
    for _ in range(struct.unpack("!H", message[6:8])[0]):
        place = skip_name(message, place)
        kind, _, _, length = struct.unpack("!2HIH", message[place : place + 10])
        data = message[place + 10 : place + 10 + length]
        if kind in (1, 28):
            found.append(socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, data))
        place += 10 + length
    return found


def resolve(server, name, kinds, timeout=5.0):
    """Asks for all kinds at once from one port, as the C library does; the answers in the order of the questions."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.connect((server, 53))
        for number, kind in enumerate(kinds):
            sock.send(question(number, name, kind))
        got = {}
        while len(got) < len(kinds):
            message = sock.recv(4096)
            got[struct.unpack("!H", message[:2])[0]] = answers(message)
        return [got[number] for number in range(len(kinds))]


def resolve_tcp(server, name, kind, timeout=5.0):
    message = question(1, name, kind)
    with socket.create_connection((server, 53), timeout) as connection:
        connection.sendall(struct.pack("!H", len(message)) + message)
        stream = connection.makefile("rb")
        return answers(stream.read(struct.unpack("!H", stream.read(2))[0]))


def raw_socket():
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.bind((DEVICE, ETH_P_ALL))
    return sock


def send_frames(frames):
    with raw_socket() as sock:
        for frame in frames:
            sock.send(bytes.fromhex(frame))
    return len(frames)


def capture(seconds, packets=None):
    """Frames that came in from the host within that time, or until so many IPv4 packets did, as hexadecimal text."""
    frames = []
    with raw_socket() as sock:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            sock.settimeout(left)
            try:
                frame, address = sock.recvfrom(FRAME_BYTES)
            except TimeoutError:
                break
            if address[2] == socket.PACKET_OUTGOING:
                continue
            frames.append(frame[:100].hex())
            if sum(text[24:28] == "0800" for text in frames) == packets:
                break
    return frames


def listen(port):
    """Answers TCP and UDP on a port of every address, for whoever should not get here."""
    stream = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    packets = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    packets.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    packets.bind(("::", port))
    threading.Thread(target=serve_stream, args=(stream,), daemon=True).start()
    threading.Thread(target=serve_packets, args=(packets,), daemon=True).start()
    return port


def serve_stream(server):
    while True:
        connection, _ = server.accept()
        connection.sendall(b"reached")
        connection.close()


def serve_packets(sock):
    while True:
        _, peer = sock.recvfrom(2000)
        sock.sendto(b"reached", peer)


def run(argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


OPERATIONS = {
    operation.__name__: operation
    for operation in (tcp, udp, icmp, web, resolve, resolve_tcp, send_frames, capture, listen, run)
}


def answer(request):
    try:
        reply = {"id": request["id"], "result": OPERATIONS[request["method"]](**request["params"])}
    except TimeoutError:
        reply = {"id": request["id"], "error": "timeout"}
    except (OSError, http.client.HTTPException, subprocess.CalledProcessError) as error:
        reply = {"id": request["id"], "error": "%s: %s" % (type(error).__name__, error)}
    os.write(1, json.dumps(reply).encode() + b"\n")


def main():
    tap, owner, namespace, mac, address, prefix, gateway = sys.argv[1:]
    host = open_tun()
    enter(namespace)
    guest = open_tun()
    become(guest, DEVICE)
    waiting, wired = os.pipe()
    if os.fork() == 0:
        carry(host, guest, tap, int(owner), wired)
    for fd in (host, guest, wired):
        os.close(fd)
    os.read(waiting, 1)
    run(["ip", "link", "set", "lo", "up"])
    run(["ip", "link", "set", DEVICE, "address", mac, "up"])
    run(["ip", "address", "add", "%s/%s" % (address, prefix), "dev", DEVICE])
    run(["ip", "route", "add", "default", "via", gateway])
    os.write(1, b'{"id": 0, "result": "ready"}\n')
    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()


if __name__ == "__main__":
    main()
