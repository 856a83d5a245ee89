"""Programs that find the simulated GPU, for tests of what the agent records of them."""

from __future__ import annotations

import sys

from tests.native.conftest import Session

from warpline.recording.sources.cuda import records

KERNEL = (records.CUPTI_KERNEL, records.cupti_kernel)
RUNTIME = (records.CUPTI_RUNTIME, records.cupti_api)
PRELUDE = """
import ctypes, os, signal, sys, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
u64 = ctypes.c_uint64
NAMES = {}
def launch(name="_Z4axpyPfS_f", stream=7, ns=1000):
    # CUPTI hands out a pointer to the name: it has to live as long as the program.
    cuda.simulatedLaunch(NAMES.setdefault(name, ctypes.c_char_p(name.encode())), stream, u64(ns))
def converse():
    for line in sys.stdin:
        exec(line)
        print("ok", flush=True)
"""

LOOKS = """
def wait_for_looks(count=2):
    # The agent looks before each flush of its thread; the record of a look has come when the next flush begins.
    def flushes():
        path = os.environ["SIMULATED_CUPTI_FLUSHES"]
        return sum(line.startswith("0 ") for line in open(path)) if os.path.exists(path) else 0
    until = flushes() + count
    while flushes() < until: time.sleep(0.01)
"""
"""Where SIMULATED_CUPTI_FLUSHES names a file. After two of them the agent has followed whatever changed before."""


def run(session: Session, program: str, *, status: int = 0, **variables: str) -> None:
    session.run(sys.executable, "-c", program, status=status, **variables)
