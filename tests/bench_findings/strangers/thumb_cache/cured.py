"""Build contact sheets from originals held on a (slow) asset origin."""
import http.client
import random
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        time.sleep(0.035)
        seed = int(self.path.rsplit("/", 1)[1])
        body = zlib.compress(random.Random(seed).randbytes(12000))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class OriginServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class AssetStore:
    def __init__(self, port):
        self.port = port
        self._assets = {}
        self._lock = threading.Lock()
        self.misses = 0

    def _download(self, asset_id):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            conn.request("GET", f"/assets/{asset_id}")
            return zlib.decompress(conn.getresponse().read())
        finally:
            conn.close()

    def get(self, asset_id):
        with self._lock:
            found = self._assets.get(asset_id)
        if found is None:
            found = self._download(asset_id)
            with self._lock:
                self._assets[asset_id] = found
                self.misses += 1
        return found


class CatalogPacker(threading.Thread):
    """Compresses the printed catalogue in the background."""

    def __init__(self, stop):
        super().__init__(name="catalog-packer")
        self.stop = stop
        self.packed = 0
        self.block = random.Random(1).randbytes(1 << 19) * 2

    def run(self):
        while not self.stop.is_set():
            self.packed += len(zlib.compress(self.block, 6))


def contact_sheet(store, sheet):
    rows = []
    for asset_id in range(sheet * 9, sheet * 9 + 10):
        pixels = store.get(asset_id)
        rows.append(sum(pixels[::97]) & 0xFFFF)
    return sheet, rows


def main():
    server = OriginServer(("127.0.0.1", 0), Origin)
    web = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    web.start()
    stop = threading.Event()
    packer = CatalogPacker(stop)
    packer.start()
    store = AssetStore(server.server_port)
    try:
        with ThreadPoolExecutor(8, thread_name_prefix="sheet") as workers:
            sheets = list(workers.map(lambda s: contact_sheet(store, s), range(8)))
    finally:
        stop.set()
        packer.join()
        server.shutdown()
        web.join()
        server.server_close()
    print(len(sheets), "sheets", store.misses >= 73, sum(map(sum, (r for _, r in sheets))))


if __name__ == "__main__":
    main()
