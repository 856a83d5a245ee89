"""Price a batch of invoices in several currencies through a rate service."""
import multiprocessing as mp
import random
import socket
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor

CURRENCIES = ["C%03d" % n for n in range(120)]


def published_rate(code):
    return 1.0 + (sum(code.encode()) * 37 % 211) / 211


class RateHandler(socketserver.StreamRequestHandler):
    def handle(self):
        code = self.rfile.readline().decode().strip()
        time.sleep(0.016)
        self.wfile.write(b"%.9f\n" % published_rate(code))


class RateServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


def serve(pipe):
    with RateServer(("127.0.0.1", 0), RateHandler) as server:
        pipe.send(server.server_address)
        server.serve_forever()


class Rates:
    """Rates by currency, each one asked for once."""

    def __init__(self, address):
        self.address = address
        self.known = {}
        self.lock = threading.Lock()
        self.pending = {}
        self.asked = 0

    def ask(self, code):
        with socket.create_connection(self.address) as sock:
            sock.sendall(code.encode() + b"\n")
            with sock.makefile("rb") as reply:
                return float(reply.readline())

    def get(self, code):
        with self.lock:
            if code in self.known:
                return self.known[code]
            mine = self.pending.setdefault(code, threading.Lock())
        with mine:
            rate = self.known.get(code)
            if rate is None:
                rate = self.ask(code)
                with self.lock:
                    self.known[code] = rate
                    self.asked += 1
            return rate


def price(invoice, rates):
    number, lines = invoice
    total = 0.0
    for code, amount in lines:
        total += amount * rates.get(code)
    return number, round(total, 6)


def make_invoices(count):
    rng = random.Random(11)
    return [(n, [(rng.choice(CURRENCIES), rng.randrange(1, 9000) / 100)
                 for _ in range(5)]) for n in range(count)]


def main():
    ours, theirs = mp.Pipe()
    server = mp.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    rates = Rates(ours.recv())
    invoices = make_invoices(400)
    with ThreadPoolExecutor(8) as pool:
        priced = list(pool.map(lambda i: price(i, rates), invoices))
    server.terminate()
    server.join()
    for (number, lines), (got, total) in zip(invoices, priced):
        expected = sum(a * float("%.9f" % published_rate(c)) for c, a in lines)
        assert number == got and abs(expected - total) < 1e-4
    used = {c for _, lines in invoices for c, _ in lines}
    assert rates.asked == len(used)
    print("invoices", len(priced), "total", round(sum(t for _, t in priced), 2),
          "asked", rates.asked)


if __name__ == "__main__":
    main()
