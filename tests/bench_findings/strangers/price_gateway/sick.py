"""Enrich incoming orders with a vendor quote and write the settled batch."""
import asyncio
import hashlib
import json
import socket
import socketserver
import threading
import time


class VendorHandler(socketserver.StreamRequestHandler):
    def handle(self):
        symbol = self.rfile.readline().strip().decode()
        time.sleep(0.07)
        cents = int(hashlib.md5(symbol.encode()).hexdigest()[:4], 16)
        self.wfile.write(json.dumps({"symbol": symbol, "cents": cents}).encode() + b"\n")


class Vendor(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


class QuoteClient:
    def __init__(self, address):
        self.address = address

    def quote(self, symbol):
        with socket.create_connection(self.address, timeout=5) as conn:
            conn.sendall(symbol.encode() + b"\n")
            with conn.makefile("rb") as stream:
                return json.loads(stream.readline())


class Gateway:
    def __init__(self, client):
        self.client = client
        self.slots = asyncio.Semaphore(16)
        self.settled = []
        self.beats = 0

    async def heartbeat(self):
        while True:
            self.beats += 1
            await asyncio.sleep(0.05)

    async def validate(self, order):
        await asyncio.sleep(0.01)
        digest = order["id"].encode()
        for _ in range(2000):
            digest = hashlib.sha256(digest).digest()
        order["token"] = digest.hex()[:12]

    async def price(self, order):
        quote = self.client.quote(order["symbol"])
        order["total"] = quote["cents"] * order["qty"]

    async def settle(self, order):
        async with self.slots:
            await self.validate(order)
            await self.price(order)
            self.settled.append(order)

    async def run(self, orders):
        pulse = asyncio.create_task(self.heartbeat())
        await asyncio.gather(*(self.settle(o) for o in orders))
        pulse.cancel()
        return sum(o["total"] for o in self.settled)


async def serve(address):
    orders = [{"id": f"ord-{i}", "symbol": f"SYM{i % 17}", "qty": 1 + i % 5}
              for i in range(45)]
    gateway = Gateway(QuoteClient(address))
    return await gateway.run(orders)


def main():
    with Vendor(("127.0.0.1", 0), VendorHandler) as vendor:
        thread = threading.Thread(target=vendor.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            print("settled", asyncio.run(serve(vendor.server_address)))
        finally:
            vendor.shutdown()
            thread.join()


if __name__ == "__main__":
    main()
