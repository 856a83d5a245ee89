"""Enrich orders with stock levels from a warehouse service."""
import asyncio
import json
import multiprocessing as mp
import random


def level(sku):
    return sum(ord(c) * (i + 3) for i, c in enumerate(sku)) % 97


async def answer(reader, writer):
    while line := await reader.readline():
        sku = json.loads(line)["sku"]
        await asyncio.sleep(0.009)
        writer.write(json.dumps({"sku": sku, "level": level(sku)}).encode() + b"\n")
        await writer.drain()
    writer.close()


async def warehouse(pipe):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname())
    async with server:
        await server.serve_forever()


def run_warehouse(pipe):
    asyncio.run(warehouse(pipe))


class Stock:
    """Keeps a few connections open and lends them out."""

    def __init__(self, address, size):
        self.address = address
        self.free = asyncio.Queue()
        self.size = size
        self.calls = 0

    async def open(self):
        for _ in range(self.size):
            self.free.put_nowait(await asyncio.open_connection(*self.address))

    async def level(self, sku):
        reader, writer = await self.free.get()
        try:
            writer.write(json.dumps({"sku": sku}).encode() + b"\n")
            reply = json.loads(await reader.readline())
        finally:
            self.free.put_nowait((reader, writer))
        self.calls += 1
        return reply["level"]

    async def close(self):
        while not self.free.empty():
            _, writer = self.free.get_nowait()
            writer.close()
            await writer.wait_closed()


def make_orders(count):
    rng = random.Random(2)
    return [{"order": n, "sku": "S-%05d" % rng.randrange(40000),
             "pieces": rng.randrange(1, 60)} for n in range(count)]


async def enrich(stock, order):
    available = await stock.level(order["sku"])
    return {**order, "available": available,
            "short": max(0, order["pieces"] - available)}


async def enrich_all(stock, orders):
    return await asyncio.gather(*(enrich(stock, order) for order in orders))


async def run(address, orders):
    stock = Stock(address, 8)
    await stock.open()
    enriched = await enrich_all(stock, orders)
    await stock.close()
    return enriched, stock.calls


def main():
    ours, theirs = mp.Pipe()
    process = mp.Process(target=run_warehouse, args=(theirs,), daemon=True)
    process.start()
    orders = make_orders(200)
    enriched, calls = asyncio.run(run(ours.recv(), orders))
    process.terminate()
    process.join()
    assert calls == len(orders)
    assert all(e["available"] == level(e["sku"]) for e in enriched)
    print("orders", len(enriched), "short", sum(e["short"] > 0 for e in enriched),
          "pieces", sum(e["short"] for e in enriched))


if __name__ == "__main__":
    main()
