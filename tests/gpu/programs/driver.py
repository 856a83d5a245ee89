"""Kernels, copies, sets and graphs through the CUDA driver alone: no toolkit and no package is needed.

Prints what a recording must hold, as ``key=value`` lines.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
import time
from typing import Any

import libraries  # noqa: F401  # prints at the end

import warpline

PTX = b"""
.version 6.4
.target sm_70
.address_size 64
.visible .entry count_up(.param .u64 numbers, .param .u32 turns)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %d<5>;
    ld.param.u64 %d1, [numbers];
    ld.param.u32 %r1, [turns];
    cvta.to.global.u64 %d2, %d1;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %d3, %r5, 4;
    add.s64 %d4, %d2, %d3;
    mov.u32 %r6, 0;
TURN:
    ld.volatile.global.u32 %r7, [%d4];
    add.u32 %r7, %r7, 1;
    st.volatile.global.u32 [%d4], %r7;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, %r1;
    @%p1 bra TURN;
    ret;
}
"""
BLOCKS, THREADS = 16, 128
BYTES = 4 * BLOCKS * THREADS
MAKES = {
    "cuCtxCreate_v2", "cuDevicePrimaryCtxRetain", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2",
    "cuMemHostAlloc", "cuStreamCreate", "cuGraphInstantiateWithFlags",
}  # fmt: skip


LONG_TURNS = 20_000
"""A kernel with so many turns takes milliseconds."""


class Gpu:
    """The first GPU's primary context, or one of its own; one kernel, some streams."""

    def __init__(self, streams: int, has_own_context: bool = False) -> None:
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            print(error, file=sys.stderr)
            sys.exit(77)
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        if has_own_context:
            self.call("cuCtxCreate_v2", self.context, 0, 0)
        else:
            self.call("cuDevicePrimaryCtxRetain", self.context, 0)
            self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", module := ctypes.c_void_p(), PTX)
        self.call("cuModuleGetFunction", function := ctypes.c_void_p(), module, b"count_up")
        self.call("cuMemAlloc_v2", memory := ctypes.c_void_p(), ctypes.c_size_t(BYTES))
        self.call("cuMemHostAlloc", pinned := ctypes.c_void_p(), ctypes.c_size_t(BYTES), 0)
        self.function, self.memory, self.pinned = function, memory, pinned
        self.streams = [ctypes.c_void_p() for _ in range(streams)]
        for stream in self.streams:
            self.call("cuStreamCreate", stream, 1)
        self.numbers = {"kernels": 0, "copies": 0, "sets": 0}

    def call(self, name: str, *arguments: Any) -> None:
        """A function of the driver; those of `MAKES` write their first argument."""
        if not hasattr(self.driver, name):
            print(f"the driver has no {name}", file=sys.stderr)
            sys.exit(77)
        first = arguments[0] if arguments else None
        given = list(arguments)
        if name in MAKES and isinstance(first, ctypes.c_void_p):
            given[0] = ctypes.byref(first)
        result = getattr(self.driver, name)(*given)
        if result:
            print(f"{name} gave {result}", file=sys.stderr)
            sys.exit(3)

    def launch(self, stream: ctypes.c_void_p, turns: int = 1) -> None:
        memory, count = ctypes.c_uint64(self.memory.value or 0), ctypes.c_uint32(turns)
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(count))
        self.call("cuLaunchKernel", self.function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, parameters, None)
        self.numbers["kernels"] += 1

    def copy_and_set(self, stream: ctypes.c_void_p) -> None:
        size = ctypes.c_size_t(BYTES)
        self.call("cuMemcpyHtoDAsync_v2", self.memory, self.pinned, size, stream)
        self.call("cuMemsetD32Async", self.memory, 0, ctypes.c_size_t(BYTES // 4), stream)
        self.call("cuMemcpyDtoHAsync_v2", self.pinned, self.memory, size, stream)
        self.numbers["copies"] += 2
        self.numbers["sets"] += 1

    def make_graph(self, nodes: int) -> ctypes.c_void_p:
        """An executable graph of one stream's kernels."""
        stream = self.streams[0]
        self.call("cuStreamBeginCapture_v2", stream, 0)
        launched = self.numbers["kernels"]
        for _ in range(nodes):
            self.launch(stream)
        self.numbers["kernels"] = launched
        self.call_out("cuStreamEndCapture", graph := ctypes.c_void_p(), stream)
        self.call("cuGraphInstantiateWithFlags", executable := ctypes.c_void_p(), graph, ctypes.c_uint64(0))
        return executable

    def replay(self, executable: ctypes.c_void_p) -> None:
        self.call("cuGraphLaunch", executable, self.streams[0])

    def call_out(self, name: str, result: ctypes.c_void_p, *arguments: Any) -> None:
        """A function that writes its last argument."""
        if getattr(self.driver, name)(*arguments, ctypes.byref(result)):
            sys.exit(3)


def print_memory(gpu: Gpu) -> None:
    """The most memory of this process so far, and what the GPU has free."""
    with open("/proc/self/status") as status:
        peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    print(f"host_mib={int(peak) / 1024:.1f}")
    if hasattr(gpu.driver, "cuMemGetInfo_v2"):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        gpu.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        print(f"gpu_used_mib={(total.value - free.value) / (1 << 20):.1f}")


def end(how: str) -> None:
    """End this process in the way that was asked for."""
    if how == "exception":
        raise RuntimeError("as asked")
    if how == "sigterm":
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    if how == "_exit":
        os._exit(0)
    if how in ("sigkill", "segfault"):
        time.sleep(0.6)
        os.kill(os.getpid(), signal.SIGKILL) if how == "sigkill" else ctypes.string_at(0)


def main() -> None:
    """What was asked for, then the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--replays", type=int, default=0)
    parser.add_argument("--range", action="store_true", help="only half of the work lies in a capture range")
    parser.add_argument(
        "--unsynchronized", action="store_true", help="stop the range while its work is queued"
    )
    parser.add_argument("--busy", type=int, default=0, help="end while so many long kernels are queued")
    ends = ("exit", "exception", "sigterm", "sigkill", "_exit", "segfault")
    parser.add_argument("--end", choices=ends, default="exit")
    args = parser.parse_args()
    gpu = Gpu(args.streams)
    gpu.call("cuCtxSynchronize")
    began = time.perf_counter()
    for number in range(args.launches):
        gpu.launch(gpu.streams[number % len(gpu.streams)])
    launch_us = (time.perf_counter() - began) / max(args.launches, 1) * 1e6
    gpu.call("cuCtxSynchronize")
    if args.range:
        outside = dict(gpu.numbers)
        gpu.call("cuProfilerStart")
        for number in range(args.launches):
            gpu.launch(gpu.streams[number % len(gpu.streams)], LONG_TURNS if args.unsynchronized else 1)
        if not args.unsynchronized:
            gpu.call("cuCtxSynchronize")
        gpu.call("cuProfilerStop")
        time.sleep(0.2)
        gpu.numbers = {name: count - outside[name] for name, count in gpu.numbers.items()}
    else:
        with warpline.annotate("copies"):
            for stream in gpu.streams:
                gpu.copy_and_set(stream)
    if args.replays:
        executable = gpu.make_graph(10)
        for _ in range(args.replays):
            gpu.replay(executable)
        print(f"nodes=10\nreplays={args.replays}")
    gpu.call("cuCtxSynchronize")
    for number in range(args.busy):
        gpu.launch(gpu.streams[number % len(gpu.streams)], LONG_TURNS)
    print("\n".join(f"{name}={count}" for name, count in gpu.numbers.items()))
    print(f"launch_us={launch_us:.3f}")
    print_memory(gpu)
    sys.stdout.flush()
    end(args.end)


if __name__ == "__main__":
    main()
