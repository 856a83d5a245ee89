"""An asyncio line server with sixteen busy clients in a second process."""
import asyncio
import multiprocessing

CLIENTS = 16
LINES = 1500


async def serve(ready):
    done = asyncio.Event()
    state = {"open": CLIENTS, "lines": 0}

    async def handle(reader, writer):
        while line := await reader.readline():
            state["lines"] += 1
            writer.write(line.upper())
            await writer.drain()
        writer.close()
        state["open"] -= 1
        if not state["open"]:
            done.set()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    ready.send(server.sockets[0].getsockname()[1])
    await done.wait()
    server.close()
    print(state["lines"])


async def client(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for i in range(LINES):
        writer.write(b"client %d line %d\n" % (number, i))
        await reader.readline()
    writer.close()
    await writer.wait_closed()


async def clients(port):
    await asyncio.gather(*(client(port, n) for n in range(CLIENTS)))


def run_clients(port_from):
    asyncio.run(clients(port_from.recv()))


def main():
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=run_clients, args=(here,))
    process.start()
    asyncio.run(serve(there))
    process.join()


if __name__ == "__main__":
    main()
