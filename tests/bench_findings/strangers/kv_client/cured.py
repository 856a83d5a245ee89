"""Client of a small key-value store: every request is a header and a body."""
import multiprocessing
import socket
import struct

HEADER = struct.Struct("<II")


def receive(link, size):
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def serve(ready):
    listener = socket.create_server(("127.0.0.1", 0))
    ready.send(listener.getsockname()[1])
    link, _ = listener.accept()
    store = {}
    try:
        while True:
            key, size = HEADER.unpack(receive(link, HEADER.size))
            store[key] = receive(link, size)
            link.sendall(struct.pack("<I", len(store)))
    except EOFError:
        pass


class Client:
    def __init__(self, port):
        self.link = socket.create_connection(("127.0.0.1", port))
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def put(self, key, body):
        self.link.sendall(HEADER.pack(key, len(body)))
        self.link.sendall(body)
        return struct.unpack("<I", receive(self.link, 4))[0]


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    client = Client(here.recv())
    stored = 0
    for i in range(75):
        stored += client.put(i, b"x" * (100 + i))
    print(stored)
    client.link.close()
    server.join()


if __name__ == "__main__":
    main()
