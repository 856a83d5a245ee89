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


def run(session: Session, program: str, *, status: int = 0, **variables: str) -> None:
    session.run(sys.executable, "-c", program, status=status, **variables)
