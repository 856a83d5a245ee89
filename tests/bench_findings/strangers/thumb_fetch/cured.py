"""Download the thumbnails of an album and report their sizes."""
import multiprocessing
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORKERS = 16


class Album(BaseHTTPRequestHandler):
    def do_GET(self):
        number = int(self.path.strip("/"))
        time.sleep(0.09)
        body = bytes(2000 + number * 10)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


def serve(ready):
    server = Server(("127.0.0.1", 0), Album)
    ready.send(server.server_port)
    server.serve_forever()


def fetch(url):
    with urllib.request.urlopen(url) as response:
        return len(response.read())


def main():
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    urls = [f"http://127.0.0.1:{port}/{i}" for i in range(60)]
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        sizes = list(pool.map(fetch, urls))
    print(len(sizes), sum(sizes))
    server.terminate()


if __name__ == "__main__":
    main()
