"""Many connections at once from inside a sandbox. Usage: tunnel-client.py PORT COUNT MIB. Half of them send, half receive."""
import hashlib, json, os, socket, sys, threading

port, count, mib = (int(text) for text in sys.argv[1:])
block = os.urandom(1 << 20)
results = {}


def run(at):
    digest, size = hashlib.md5(), 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"%-8s" % (b"up" if at % 2 else b"down"))
        if at % 2:
            for number in range(mib):
                piece = number.to_bytes(4, "big") + at.to_bytes(4, "big") + block[8:]
                digest.update(piece)
                connection.sendall(piece)
                size += len(piece)
            connection.shutdown(socket.SHUT_WR)
            theirs = connection.makefile("rb").read().decode()
        else:
            while piece := connection.recv(1 << 18):
                digest.update(piece)
                size += len(piece)
            connection.sendall(digest.hexdigest().encode())
            theirs = digest.hexdigest()
    results[at] = {"size": size, "ours": digest.hexdigest(), "theirs": theirs}


threads = [threading.Thread(target=run, args=(at,)) for at in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps([results.get(at) for at in range(count)]))
