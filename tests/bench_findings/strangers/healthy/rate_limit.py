"""Enrich accounts through a partner API that grants 4 parallel calls and 60 calls/s."""
import json
import multiprocessing as mp
import socket
import socketserver
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

PARALLEL = 4        # contract: at most four open calls
RATE = 60.0         # contract: calls per second
ACCOUNTS = 190
ANSWER_TIME = 0.045


class Partner(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            account = int(line)
            time.sleep(ANSWER_TIME)
            body = {"account": account, "score": account * 37 % 101, "country": "DE FR IT".split()[account % 3]}
            self.wfile.write(json.dumps(body).encode() + b"\n")


class PartnerServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


def run_partner(pipe):
    with PartnerServer(("127.0.0.1", 0), Partner) as server:
        pipe.send(server.server_address)
        server.serve_forever()


class Pacer:
    """Hands out start times at the contract rate; the waiting happens outside the lock."""

    def __init__(self, rate):
        self.gap = 1.0 / rate
        self.lock = threading.Lock()
        self.next_start = time.monotonic()

    def wait(self):
        with self.lock:
            now = time.monotonic()
            start = max(now, self.next_start)
            self.next_start = start + self.gap
        if start > now:
            time.sleep(start - now)


class Api:
    def __init__(self, address):
        self.address = address
        self.pacer = Pacer(RATE)
        self.slots = threading.BoundedSemaphore(PARALLEL)
        self.local = threading.local()

    def stream(self):
        if not hasattr(self.local, "stream"):
            sock = socket.create_connection(self.address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.local.stream = sock.makefile("rwb")
        return self.local.stream

    def enrich(self, account):
        self.pacer.wait()
        with self.slots:
            stream = self.stream()
            stream.write(b"%d\n" % account)
            stream.flush()
            return json.loads(stream.readline())


def grade(body):
    return "high" if body["score"] > 70 else "medium" if body["score"] > 30 else "low"


def main():
    here, there = mp.Pipe()
    partner = mp.Process(target=run_partner, args=(there,), daemon=True)
    partner.start()
    api = Api(here.recv())
    grades, countries = Counter(), Counter()
    with ThreadPoolExecutor(PARALLEL) as pool:
        for body in pool.map(api.enrich, range(ACCOUNTS)):
            grades[grade(body)] += 1
            countries[body["country"]] += 1
    partner.terminate()
    print(dict(sorted(grades.items())), dict(sorted(countries.items())))


if __name__ == "__main__":
    main()
