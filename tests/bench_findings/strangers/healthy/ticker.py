"""Publish a metrics sample every 200 ms to whoever is subscribed, for 15 ticks."""
import asyncio
import json
import os
import time

PERIOD = 0.2
TICKS = 15


class Publisher:
    def __init__(self):
        self.subscribers = set()

    async def on_connect(self, reader, writer):
        self.subscribers.add(writer)
        try:
            await reader.read()
        finally:
            self.subscribers.discard(writer)
            writer.close()

    def sample(self, tick):
        return {"tick": tick, "load": os.getloadavg()[0], "cpu": time.process_time()}

    async def run(self):
        loop = asyncio.get_running_loop()
        started = loop.time()
        for tick in range(TICKS):
            line = json.dumps(self.sample(tick)).encode() + b"\n"
            for writer in list(self.subscribers):
                writer.write(line)
            await asyncio.gather(*(w.drain() for w in list(self.subscribers)))
            await asyncio.sleep(max(0.0, started + (tick + 1) * PERIOD - loop.time()))


async def subscriber(port, name, seen):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while line := await reader.readline():
            seen.setdefault(name, []).append(json.loads(line)["tick"])
    finally:
        writer.close()


async def main():
    publisher = Publisher()
    server = await asyncio.start_server(publisher.on_connect, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    seen = {}
    listeners = [asyncio.create_task(subscriber(port, f"s{i}", seen)) for i in range(3)]
    while len(publisher.subscribers) < len(listeners):
        await asyncio.sleep(0.01)
    await publisher.run()
    for listener in listeners:
        listener.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    server.close()
    await asyncio.sleep(0.05)
    print({name: len(ticks) for name, ticks in sorted(seen.items())})


if __name__ == "__main__":
    asyncio.run(main())
