"""Value the baskets of a shop; prices come from a slow catalogue and are cached."""
import queue
import socket
import socketserver
import threading
import time
import multiprocessing


class Catalogue(socketserver.StreamRequestHandler):
    def handle(self):
        article = int(self.rfile.readline())
        time.sleep(0.07)
        self.wfile.write(b"%d\n" % (article * 37 % 1000))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


def serve(ready):
    with Server(("127.0.0.1", 0), Catalogue) as server:
        ready.send(server.server_address[1])
        server.serve_forever()


class PriceCache:
    def __init__(self, port):
        self.port = port
        self.lock = threading.Lock()
        self.prices = {}

    def ask(self, article):
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.sendall(b"%d\n" % article)
            return int(link.recv(100))

    def get(self, article):
        with self.lock:
            if article not in self.prices:
                self.prices[article] = self.ask(article)
            return self.prices[article]


def worker(cache, baskets, totals):
    while True:
        try:
            basket = baskets.get_nowait()
        except queue.Empty:
            return
        totals.append(sum(cache.get(article) for article in basket))


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    cache = PriceCache(here.recv())
    baskets = queue.Queue()
    for start in range(0, 40, 2):
        baskets.put([start, start + 1])
    totals = []
    threads = [threading.Thread(target=worker, args=(cache, baskets, totals)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(totals), sum(totals))
    server.terminate()


if __name__ == "__main__":
    main()
