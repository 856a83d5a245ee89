"""Fetch the files of a release manifest from a mirror, four connections at a time."""
import hashlib
import multiprocessing as mp
import socket
import socketserver
import threading
import time
from dataclasses import dataclass

CONNECTIONS = 4
CHUNK = 32 * 1024
PACE = 0.004


def payload(number, size):
    unit = hashlib.sha256(b"%d" % number).digest()
    return (unit * (size // len(unit) + 1))[:size]


class Mirror(socketserver.StreamRequestHandler):
    """The far side: every stream is shaped to one chunk per tick."""

    def handle(self):
        for line in self.rfile:
            number, size = map(int, line.split())
            body = payload(number, size)
            for start in range(0, size, CHUNK):
                time.sleep(PACE)
                self.wfile.write(body[start : start + CHUNK])


class MirrorServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


def run_mirror(pipe):
    with MirrorServer(("127.0.0.1", 0), Mirror) as server:
        pipe.send(server.server_address)
        server.serve_forever()


@dataclass(frozen=True)
class Entry:
    number: int
    size: int
    digest: str


def read_manifest():
    """Entries come ordered by size, as the release tool writes them."""
    entries = []
    for number in range(48):
        size = 20_000 + 300 * number**2 + (number // 36) * 1_100_000
        entries.append(Entry(number, size, hashlib.md5(payload(number, size)).hexdigest()))
    return entries


class Connection:
    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fetch(self, entry):
        self.sock.sendall(f"{entry.number} {entry.size}\n".encode())
        digest = hashlib.md5()
        left = entry.size
        while left:
            chunk = self.sock.recv(min(left, 1 << 16))
            digest.update(chunk)
            left -= len(chunk)
        return digest.hexdigest()


def share_out(entries, parts):
    return [entries[n::parts] for n in range(parts)]


def pull(address, entries, outcome):
    connection = Connection(address)
    for entry in entries:
        outcome[entry.number] = connection.fetch(entry) == entry.digest
    connection.sock.close()


def sync(address, entries):
    outcome = {}
    crew = []
    for part in share_out(entries, CONNECTIONS):
        thread = threading.Thread(target=pull, args=(address, part, outcome))
        thread.start()
        crew.append(thread)
    for thread in crew:
        thread.join()
    return outcome


def main():
    here, there = mp.Pipe()
    mirror = mp.Process(target=run_mirror, args=(there,), daemon=True)
    mirror.start()
    entries = read_manifest()
    outcome = sync(here.recv(), entries)
    mirror.terminate()
    print("files", len(outcome), "good", sum(outcome.values()))
    print("bytes", sum(e.size for e in entries))


if __name__ == "__main__":
    main()
