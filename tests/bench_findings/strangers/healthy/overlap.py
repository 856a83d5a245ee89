"""Collect article pages from an origin, many in flight, and index them as they come."""
import asyncio
import json
import multiprocessing as mp
import random
from collections import Counter, defaultdict

PAGES = 1100
IN_FLIGHT = 48
LATENCY = (0.06, 0.16)
WORDS = "amber basin cedar delta ember fjord glade heath inlet jetty knoll ledge".split()


async def origin_connection(reader, writer):
    """The origin: keep-alive connections, every page takes its time."""
    while line := await reader.readline():
        number = int(line)
        rng = random.Random(number)
        await asyncio.sleep(rng.uniform(*LATENCY))
        text = " ".join(rng.choices(WORDS, k=40))
        links = [rng.randrange(PAGES) for _ in range(4)]
        writer.write(json.dumps({"page": number, "text": text, "links": links}).encode() + b"\n")
        await writer.drain()
    writer.close()


def run_origin(pipe):
    async def serve():
        server = await asyncio.start_server(origin_connection, "127.0.0.1", 0, backlog=256)
        pipe.send(server.sockets[0].getsockname())
        async with server:
            await server.serve_forever()

    asyncio.run(serve())


class Index:
    def __init__(self):
        self.words = defaultdict(Counter)
        self.inbound = Counter()
        self.pages = 0

    def add(self, page):
        counts = Counter(page["text"].split())
        for word, count in counts.items():
            self.words[word][page["page"]] = count
        self.inbound.update(page["links"])
        self.pages += 1

    def best(self, word):
        return self.words[word].most_common(1)[0]


async def fetcher(address, todo, index):
    """One keep-alive connection working through the shared list."""
    reader, writer = await asyncio.open_connection(*address)
    for number in todo:
        writer.write(b"%d\n" % number)
        index.add(json.loads(await reader.readline()))
    writer.close()
    await writer.wait_closed()


async def collect(address):
    index = Index()
    todo = iter(range(PAGES))
    await asyncio.gather(*(fetcher(address, todo, index) for _ in range(IN_FLIGHT)))
    return index


def main():
    here, there = mp.Pipe()
    origin = mp.Process(target=run_origin, args=(there,), daemon=True)
    origin.start()
    index = asyncio.run(collect(here.recv()))
    origin.terminate()
    print("pages", index.pages, "words", len(index.words), "links", index.inbound.total())
    print("most linked", index.inbound.most_common(1)[0][1])
    for word in WORDS[:4]:
        print(word, index.best(word)[1])


if __name__ == "__main__":
    main()
