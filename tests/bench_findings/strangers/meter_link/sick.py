"""Send meter readings to a collector that acknowledges each of them."""
import json
import multiprocessing as mp
import random
import socket
import struct
import zlib

HEADER = struct.Struct("!IHI")


def receive(sock, size):
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def collector(pipe):
    """Check and sum up readings until the client leaves."""
    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(listener.getsockname())
    sock, _ = listener.accept()
    total = 0
    with sock, listener:
        while True:
            try:
                head = receive(sock, HEADER.size)
            except EOFError:
                break
            size, kind, crc = HEADER.unpack(head)
            body = receive(sock, size)
            if zlib.crc32(body) != crc:
                sock.sendall(HEADER.pack(0, 0xFFFF, 0))
                continue
            for value in json.loads(body)["values"]:
                total += value
            sock.sendall(HEADER.pack(0, kind, total & 0xFFFFFFFF))
    pipe.send(total)


class Link:
    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.sent = 0

    def send(self, kind, message):
        body = json.dumps(message).encode()
        self.sock.sendall(HEADER.pack(len(body), kind, zlib.crc32(body)))
        self.sock.sendall(body)
        self.sent += 1
        _, answer, total = HEADER.unpack(receive(self.sock, HEADER.size))
        if answer != kind:
            raise RuntimeError("refused")
        return total

    def close(self):
        self.sock.close()


def readings(count):
    rng = random.Random(8)
    for n in range(count):
        yield {"meter": "M%05d" % rng.randrange(3000), "sequence": n,
               "values": [rng.randrange(5000) for _ in range(24)]}


def main():
    ours, theirs = mp.Pipe()
    process = mp.Process(target=collector, args=(theirs,), daemon=True)
    process.start()
    link = Link(ours.recv())
    expected = 0
    for reading in readings(60):
        total = link.send(7, reading)
        expected += sum(reading["values"])
        assert total == expected & 0xFFFFFFFF
    link.close()
    assert ours.recv() == expected
    process.join()
    print("sent", link.sent, "total", expected)


if __name__ == "__main__":
    main()
