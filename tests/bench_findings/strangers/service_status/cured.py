"""Collect the health of the services of a cluster into one table."""
import json
import multiprocessing
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVICES = ["auth", "billing", "cart", "catalog", "chat", "coupon", "export", "gateway",
            "geo", "image", "inventory", "ledger", "mail", "metrics", "notify", "orders",
            "payment", "profile", "queue", "report", "search", "session", "sms", "stock"]


class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.11)
        body = json.dumps({"name": self.path[1:], "up": len(self.path) % 5 != 0}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


def serve(ready):
    server = Server(("127.0.0.1", 0), Health)
    ready.send(server.server_port)
    server.serve_forever()


def health(port, service):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{service}") as response:
        return json.load(response)


def collect(port):
    with ThreadPoolExecutor(len(SERVICES)) as pool:
        return list(pool.map(lambda service: health(port, service), SERVICES))


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    table = collect(here.recv())
    print(len(table), sum(row["up"] for row in table))
    server.terminate()


if __name__ == "__main__":
    main()
