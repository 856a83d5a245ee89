"""What recording waits is measured on: one of a few loads, by name, and how much of it."""

import asyncio
import sys
import threading


def loop(count: int) -> None:
    """Pure Python that never waits."""

    def add(total: int, number: int) -> int:
        return (total * 31 + number) & 0xFFFFFF

    total = 0
    for number in range(count):
        total = add(total, number)


def hand_over(count: int) -> None:
    """Two threads that hand each other two locks: nothing but waits."""
    mine, yours = threading.Lock(), threading.Lock()
    yours.acquire()

    def answer() -> None:
        for _ in range(count):
            yours.acquire()
            mine.release()

    mine.acquire()
    other = threading.Thread(target=answer)
    other.start()
    for _ in range(count):
        yours.release()
        mine.acquire()
    other.join()


def ping_pong(count: int) -> None:
    """Two threads that take and give back one lock, together about a million times a second."""
    lock = threading.Lock()

    def take() -> None:
        for _ in range(count // 2):
            lock.acquire()
            lock.release()

    other = threading.Thread(target=take)
    other.start()
    take()
    other.join()


def server(count: int) -> None:
    """An echo server and eight clients of it in one event loop."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(64):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def ask(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count):
            writer.write(b"x" * 64)
            await reader.readexactly(64)
        writer.close()

    async def main() -> None:
        listening = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        await asyncio.gather(*(ask(port) for _ in range(8)))
        listening.close()

    asyncio.run(main())


{"loop": loop, "ping_pong": ping_pong, "hand_over": hand_over, "server": server}[sys.argv[1]](
    int(sys.argv[2])
)
