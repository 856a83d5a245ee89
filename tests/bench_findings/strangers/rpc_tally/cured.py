"""Send daily sales records to the tally service and print the totals."""
import json
import random
import socket
import struct
import threading

HEADER = struct.Struct("!IHH")
VERSION = 3


def read_exact(conn, size):
    chunks = []
    while size:
        part = conn.recv(size)
        if not part:
            raise ConnectionError("peer closed")
        chunks.append(part)
        size -= len(part)
    return b"".join(chunks)


class TallyService(threading.Thread):
    def __init__(self):
        super().__init__(name="tally-service")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.totals = {}

    def handle(self, op, payload):
        if op == 1:
            for store, amount in payload["sales"]:
                self.totals[store] = self.totals.get(store, 0) + amount
            return {"ok": True, "stores": len(self.totals)}
        return {"ok": True, "totals": self.totals}

    def run(self):
        conn, _ = self.listener.accept()
        with conn, self.listener:
            while True:
                size, _, op = HEADER.unpack(read_exact(conn, HEADER.size))
                if op == 9:
                    return
                payload = json.loads(read_exact(conn, size)) if size else {}
                reply = json.dumps(self.handle(op, payload)).encode()
                conn.sendall(HEADER.pack(len(reply), VERSION, op) + reply)


class TallyClient:
    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.calls = 0

    def _transmit(self, op, body):
        self.sock.sendall(HEADER.pack(len(body), VERSION, op) + body)

    def call(self, op, payload):
        self._transmit(op, json.dumps(payload).encode())
        size, _, _ = HEADER.unpack(read_exact(self.sock, HEADER.size))
        self.calls += 1
        return json.loads(read_exact(self.sock, size))

    def close(self):
        self._transmit(9, b"")
        self.sock.close()


def daily_sales(days, rng):
    for _ in range(days):
        yield [(f"store-{rng.randrange(40):02d}", rng.randrange(1, 500))
               for _ in range(12)]


def main():
    service = TallyService()
    service.start()
    client = TallyClient(service.port)
    rng = random.Random(11)
    for sales in daily_sales(90, rng):
        sales.sort()
        answer = client.call(1, {"sales": sales})
        assert answer["ok"]
    totals = client.call(2, {})["totals"]
    client.close()
    service.join()
    print(client.calls, "calls", sum(totals.values()))


if __name__ == "__main__":
    main()
