"""A load in small pieces, with the recording around it going on and paused by turns: what each piece cost, as JSON.

Arguments: the load, seconds, the spool directory of the recording.
"""

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from warpline.recording.control import send_command

LOAD, SECONDS, SPOOL = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
costs: dict[str, list[int]] = {"pause": [], "resume": []}


def pieces() -> Iterator[str]:
    """By turns in pairs of random order, until the time is over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for command in random.sample(sorted(costs), 2):
            send_command(SPOOL, command, timeout_s=60)
            yield command


def loop() -> None:
    def add(total: int, number: int) -> int:
        return (total * 31 + number) & 0xFFFFFF

    for command in pieces():
        began, total = time.process_time_ns(), 0
        for number in range(100_000):
            total = add(total, number)
        costs[command].append(time.process_time_ns() - began)


def ping_pong() -> None:
    """Two threads take and give back one lock."""
    lock = threading.Lock()

    def take() -> None:
        for _ in range(20_000):
            lock.acquire()
            lock.release()

    for command in pieces():
        other = threading.Thread(target=take)
        began = time.process_time_ns()
        other.start()
        take()
        other.join()
        costs[command].append(time.process_time_ns() - began)


def used_by_ended_ns() -> int:
    """Processor time of children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def make() -> None:
    """``make -j2`` of a few C files, each time anew."""
    with tempfile.TemporaryDirectory() as folder:
        objects = " ".join(f"part{number}.o" for number in range(4))
        for number in range(4):
            lines = "".join(f"int f{number}_{i}(int x) {{ return x * {i}; }}\n" for i in range(200))
            Path(folder, f"part{number}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{lines}")
        Path(folder, "Makefile").write_text(f"all: {objects}\n%.o: %.c\n\tcc -O1 -c $< -o $@\n")
        for command in pieces():
            before = used_by_ended_ns()
            subprocess.run(["make", "-C", folder, "-j2", "-s", "-B"], check=True)
            costs[command].append(used_by_ended_ns() - before)


async def serve() -> None:
    """The echo server and its eight clients of waiting_loads.py."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(64):
            writer.write(data)
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    ends = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]

    async def ask(end: tuple[asyncio.StreamReader, asyncio.StreamWriter], times: int) -> None:
        for _ in range(times):
            end[1].write(b"x" * 64)
            await end[0].readexactly(64)

    def asked(times: int) -> Awaitable[Any]:
        return asyncio.gather(*(ask(end, times) for end in ends))

    for command in pieces():
        await asked(3)
        began = time.process_time_ns()
        await asked(20)
        costs[command].append(time.process_time_ns() - began)
    for _reader, writer in ends:
        writer.close()
    listening.close()
    await asyncio.sleep(0.1)


def used_by_children_ns() -> int:
    """Processor time of the loader's workers so far."""
    pids = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    threads = (path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(path.read_text().split()[0]) for path in threads)


def train() -> None:
    """The training of training_load.py without an end."""
    import torch
    from torch import nn

    dataset: Any = torch.utils.data.IterableDataset

    class Pictures(dataset):  # type: ignore[misc]  # a base that is Any: torch need not be there
        def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
            for index in count():
                yield torch.rand(3, 32, 32, generator=torch.Generator().manual_seed(index)), index % 10

    torch.set_num_threads(1)
    layers = [nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(10))
    batches = iter(torch.utils.data.DataLoader(Pictures(), batch_size=16, num_workers=2))
    model(torch.zeros(1, 3, 32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(times: int) -> None:
        for _ in range(times):
            images, labels = next(batches)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    step(20)
    for command in pieces():
        step(5)  # what the workers have ready was made before
        began = time.process_time_ns() + used_by_children_ns()
        step(20)
        costs[command].append(time.process_time_ns() + used_by_children_ns() - began)


LOADS: dict[str, Callable[[], None]] = {
    "loop": loop,
    "ping_pong": ping_pong,
    "make": make,
    "server": lambda: asyncio.run(serve()),
    "training": train,
}
if __name__ == "__main__":
    LOADS[LOAD]()
    print(json.dumps(costs))
