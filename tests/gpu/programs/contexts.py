"""Makes and destroys contexts, or resets the primary one, beside a launching thread.  contexts.py {contexts,reset}"""

from __future__ import annotations

import sys
import threading
import time

from driver import Gpu

ROUNDS, LAUNCHES, MOST_S = 40, 50, 8.0


class Launching(threading.Thread):
    """Launches and waits, in a context of its own, until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kernels = 0
        self.is_over = threading.Event()
        self.is_ready = threading.Event()

    def run(self) -> None:
        gpu = Gpu(1, has_own_context=True)
        self.is_ready.set()
        while not self.is_over.is_set():
            for _ in range(10):
                gpu.launch(gpu.streams[0])
            gpu.call("cuStreamSynchronize", gpu.streams[0])
        self.kernels = gpu.numbers["kernels"]


def main() -> None:
    is_reset = sys.argv[1] == "reset"
    beside = Launching()
    beside.start()
    if not beside.is_ready.wait(timeout=10):
        sys.exit("the thread that launches did not start")
    kernels = rounds = 0
    began = time.monotonic()
    while rounds < ROUNDS and time.monotonic() - began < MOST_S:
        gpu = Gpu(1, has_own_context=not is_reset)
        for _ in range(LAUNCHES):
            gpu.launch(gpu.streams[0])
        # Every second context goes while its work is queued.
        if rounds % 2:
            gpu.call("cuCtxSynchronize")
        if is_reset:
            gpu.call("cuCtxSynchronize")
            gpu.call("cuDevicePrimaryCtxReset_v2", 0)
        else:
            gpu.call("cuCtxDestroy_v2", gpu.context)
        kernels += gpu.numbers["kernels"]
        rounds += 1
    seconds = time.monotonic() - began
    beside.is_over.set()
    beside.join()
    print(f"rounds={rounds}\nround_ms={1e3 * seconds / rounds:.2f}")
    print(f"kernels={kernels + beside.kernels}")


if __name__ == "__main__":
    main()
