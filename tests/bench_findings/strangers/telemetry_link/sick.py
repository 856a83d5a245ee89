"""Ship readings from field units to the collector and keep its receipts."""
import json
import multiprocessing as mp
import random
import socket
import statistics
import struct
import zlib

UNITS = 12
READINGS = 48
ROUNDS = 5
HEAD = struct.Struct("!IIH")


def read_exact(sock, n):
    parts = []
    while n:
        chunk = sock.recv(n)
        if not chunk:
            raise EOFError("peer closed")
        parts.append(chunk)
        n -= len(chunk)
    return b"".join(parts)


def collector(listener):
    """Accept one link and acknowledge every frame."""
    conn, _ = listener.accept()
    totals = {}
    with conn:
        while True:
            try:
                size, crc, unit = HEAD.unpack(read_exact(conn, HEAD.size))
            except EOFError:
                return
            body = read_exact(conn, size)
            ok = zlib.crc32(body) == crc
            rows = json.loads(body)
            totals[unit] = totals.get(unit, 0) + len(rows)
            reply = json.dumps({"ok": ok, "unit": unit, "seen": totals[unit]})
            conn.sendall(struct.pack("!H", len(reply)) + reply.encode())


class Link:
    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.frames = 0

    def ship(self, unit, rows):
        body = json.dumps(rows, separators=(",", ":")).encode()
        head = HEAD.pack(len(body), zlib.crc32(body), unit)
        self.sock.sendall(head)
        self.sock.sendall(body)
        self.frames += 1
        (size,) = struct.unpack("!H", read_exact(self.sock, 2))
        receipt = json.loads(read_exact(self.sock, size))
        if not receipt["ok"]:
            raise RuntimeError(f"unit {unit}: frame damaged")
        return receipt["seen"]

    def close(self):
        self.sock.close()


def sample_unit(rng, unit):
    base = 20.0 + unit * 0.7
    return [
        {"t": i, "c": round(base + rng.gauss(0, 0.4), 3), "v": round(rng.uniform(3.1, 3.4), 2)}
        for i in range(READINGS)
    ]


def summarize(history):
    lines = []
    for unit, values in sorted(history.items()):
        mean = statistics.fmean(values)
        dev = statistics.pstdev(values)
        lines.append(f"unit {unit:02d}  n={len(values):4d}  mean={mean:6.3f}  sd={dev:5.3f}")
    return "\n".join(lines)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    peer = mp.Process(target=collector, args=(listener,), daemon=True)
    peer.start()
    link = Link(listener.getsockname())
    rng = random.Random(11)
    history, seen = {}, {}
    for _ in range(ROUNDS):
        for unit in range(UNITS):
            rows = sample_unit(rng, unit)
            history.setdefault(unit, []).extend(r["c"] for r in rows)
            seen[unit] = link.ship(unit, rows)
    link.close()
    peer.join()
    assert all(n == READINGS * ROUNDS for n in seen.values())
    print(summarize(history))
    print("frames", link.frames)


if __name__ == "__main__":
    main()
