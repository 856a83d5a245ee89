"""Captures of programs whose threads do one thing after another, each at a place of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpline.model import Flag
from warpline.model.waits import WaitKind
from warpline.storage import Capture, CaptureBuilder, open_capture

MS = 1_000_000
PYTHON = "/usr/lib/python3.11"
MAIN = 71
"""The id of the first process and its main thread; later threads count on from it."""


@dataclass(frozen=True)
class Does:
    """What a thread does for ``length`` ns: it runs, or waits (``wait``) until thread number ``by`` acts.

    ``frames`` is its stack, leaf first; ``lock`` the address of what it waits for; ``ready``: it has no core;
    ``result`` is what its call, to ``function`` on ``object``, returned; ``sampled``: its wait has samples, too.
    """

    length: int
    wait: WaitKind | None = None
    by: int | None = None
    frames: tuple[str, ...] = ()
    lock: int = 0
    ready: bool = False
    result: int | None = None
    function: str = "wait"
    object: str = ""
    sampled: bool = False


@dataclass(frozen=True)
class Acts:
    """A thread: when it starts (ns), what it does until it ends, and the number of its process."""

    does: tuple[Does, ...]
    start: int = 0
    process: int = 0


def scene(
    path: Path,
    threads: list[Acts],
    name: str = "python",
    meta: Mapping[str, object] | None = None,
    cores: int = 0,
) -> Capture:
    """A capture of the threads; process 0 is the parent of all others. ``cores`` are recorded, 0: it is unknown."""
    builder = CaptureBuilder(path)
    for core in range(cores):
        builder.track(f"cpu/{core}", title=f"Core {core}", role="core")
    builder.meta.update(meta or {})
    processes: dict[int, int] = {}
    tids: list[int] = []
    pid_of: dict[int, int] = {}
    for number, acts in enumerate(threads):
        tids.append(MAIN + number)
        pid_of.setdefault(acts.process, MAIN + number)
    end = max(acts.start + sum(does.length for does in acts.does) for acts in threads)
    for number, acts in enumerate(threads):
        stop = acts.start + sum(does.length for does in acts.does)
        if acts.process not in processes:
            processes[acts.process] = builder.add_process(
                pid_of[acts.process], name=name, parent_pid=MAIN if acts.process else None,
                start_ns=acts.start, stop_ns=stop,
            )  # fmt: skip
        process = processes[acts.process]
        thread = builder.add_thread(process, tids[number], name=name, start_ns=acts.start, stop_ns=stop)
        base = f"process/{pid_of[acts.process]}.1/thread/{tids[number]}.1"
        state, calls, samples = (
            builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
            for role in ("state", "osrt", "samples")
        )
        now = acts.start
        for does in acts.does:
            stack = _stack(builder, does.frames)
            given = {} if stack is None else {"stack": np.array([stack], np.uint32)}
            if does.wait is None:
                name_of_state = builder.string("runnable" if does.ready else "running")
                flags = [int(Flag.WAITING) if does.ready else 0]
                builder.add_events(state, "thread_state", [now], [does.length], [name_of_state], flags=flags)
            else:
                wait = np.array([int(does.wait)], np.uint8)
                builder.add_events(
                    state, "thread_state", [now], [does.length], [builder.string("blocked")],
                    flags=[int(Flag.IDLE)], attributes={"wait": wait, **given},
                )  # fmt: skip
                ender = np.ma.MaskedArray([0 if does.by is None else tids[does.by]], [does.by is None])
                builder.add_events(
                    calls, "osrt", [now], [does.length], [builder.string(does.function)],
                    attributes={
                        "wait": wait, "ended_by": ender,
                        "address": np.ma.MaskedArray(np.array([does.lock], np.uint64), [not does.lock]),
                        **given, **_result(builder, does),
                    },
                )  # fmt: skip
            if stack is not None and (does.wait is None or does.sampled):
                times = np.arange(now + MS // 2, now + does.length, MS)
                builder.add_events(
                    samples, "sample", times, np.zeros(len(times), np.int64),
                    np.full(len(times), builder.string("sample"), np.uint32),
                    attributes={"stack": np.full(len(times), stack, np.uint32)},
                )  # fmt: skip
            now += does.length
    builder.set_span(0, end)
    builder.finish()
    return open_capture(path)


def _result(
    builder: CaptureBuilder, does: Does
) -> dict[str, np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int64]]]:
    if does.result is None:
        return {}
    return {
        "return_value": np.ma.MaskedArray(np.array([does.result], np.int64), [False]),
        "object": np.ma.MaskedArray(np.array([builder.string(does.object)], np.int64), [not does.object]),
    }


def _stack(builder: CaptureBuilder, frames: tuple[str, ...]) -> int | None:
    stack: int | None = None
    for frame in reversed(frames):
        text = builder.string(frame)
        stack = builder.stack(text) if stack is None else builder.stack(text, stack)
    return stack
