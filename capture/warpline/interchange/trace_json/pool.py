"""Parts of a trace as columns: made one ahead by a thread, or, without the compiled scanner, in a few processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import IO

from warpline.interchange.trace_json.events import EventDecoder
from warpline.interchange.trace_json.piece_columns import Piece
from warpline.interchange.trace_json.scanner import Scan, library
from warpline.interchange.trace_json.worker import piece_of, read_message, write_message

MANY_BYTES = 24 << 20
"""Starting the processes takes about as long as decoding this much."""
_MAX_WORKERS = 6


def pieces(
    parts: Iterable[bytes | Scan], format_name: str, *, workers: int | None = None
) -> Generator[Piece, None, None]:
    """The columns of parts of an `EventStream`, in their order.

    A thread reads and scans the next part while the caller uses this one: unpacking and scanning work without the
    interpreter's lock. Without the scanner, the first :data:`MANY_BYTES` are decoded here; what follows, by up
    to one process per core. ``workers`` says how many instead; 0 means none.
    """
    wanted = _worker_count() if workers is None else workers
    if not wanted:
        decoder = EventDecoder()
        with closing(_one_ahead(iter(parts))) as ready:
            for part in ready:
                yield piece_of(decoder, part, format_name)
        return
    yield from _shared_out(
        (part for part in parts if isinstance(part, bytes)), format_name, wanted, workers is not None
    )


def _one_ahead(parts: Iterator[bytes | Scan]) -> Generator[bytes | Scan, None, None]:
    """The same parts, the next one being made while the last one is used."""
    with ThreadPoolExecutor(1, thread_name_prefix="trace") as thread:
        coming = thread.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = thread.submit(next, parts, None)
            yield part


def _shared_out(texts: Iterator[bytes], format_name: str, wanted: int, at_once: bool) -> Iterator[Piece]:
    decoder = EventDecoder()
    seen = 0
    for text in texts:
        yield piece_of(decoder, text, format_name)
        seen += len(text)
        if seen >= MANY_BYTES or at_once:
            yield from _in_processes(texts, format_name, wanted)


def _worker_count() -> int:
    if library() is not None:
        return 0  # one core is quick enough then, and needs less memory
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # A bundled application has no interpreter to start.
    return 0 if cores < 2 or getattr(sys, "frozen", False) or not sys.executable else min(cores, _MAX_WORKERS)


def _in_processes(texts: Iterator[bytes], format_name: str, count: int) -> Iterator[Piece]:
    decoder = EventDecoder()
    try:
        workers = [_Worker(format_name) for _ in range(count)]
    except OSError:
        # No room for more processes: slower, not impossible.
        for text in texts:
            yield piece_of(decoder, text, format_name)
        return
    free: SimpleQueue[_Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def decode(text: bytes) -> Piece:
        worker = free.get()
        try:
            return worker.decode(text)
        except (OSError, EOFError, pickle.UnpicklingError):
            # The process is gone (killed, or out of memory): this piece is decoded here, later ones by the others.
            worker.broken = True
            return piece_of(EventDecoder(), text, format_name)
        finally:
            if worker.broken:
                worker.revive_here()
            free.put(worker)

    waiting: deque[Future[Piece]] = deque()
    with ThreadPoolExecutor(count, thread_name_prefix="trace") as threads:
        try:
            for text in texts:
                waiting.append(threads.submit(decode, text))
                if len(waiting) > count + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            threads.shutdown()
            for worker in workers:
                worker.close()


class _Worker:
    """One decoding process; after it broke, decodes in this one."""

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self.broken = False
        self._local: EventDecoder | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "warpline.interchange.trace_json.worker", format_name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )

    def decode(self, text: bytes) -> Piece:
        """The columns of a piece.

        Raises OSError or EOFError when the process is gone.
        """
        if self._local is not None:
            return piece_of(self._local, text, self._format)
        write_message(_open(self._process.stdin), text)  # type: ignore[arg-type]  # IO[bytes] has what is used
        answer = read_message(_open(self._process.stdout))  # type: ignore[arg-type]  # likewise
        if answer is None:
            raise EOFError("the decoding process has ended")
        piece: Piece = pickle.loads(answer)
        return piece

    def revive_here(self) -> None:
        """Go on in this process."""
        self._local = EventDecoder()
        self.broken = False

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                _open(pipe).close()
            except OSError:
                pass  # it was gone already
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "both pipes are asked for"
    return pipe
